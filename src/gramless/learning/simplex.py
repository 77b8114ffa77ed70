"""Weights on the simplex: non-negative rows with a fixed sum.

Free weights run away: the SVM's objective falls when the kernel grows, whatever it says about the labels. A row is
therefore w = gain softmax(theta), and theta is free.
"""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST = 1e-6  # share of a row under which a weight is as good as zero


def to_logits(weights: Tensor) -> tuple[Tensor, Tensor]:
    """theta (n_units, n_inputs) and the rows' gains (n_units, 1) of given weights."""
    gains = weights.sum(1, keepdim=True)
    shares = weights / torch.where(gains > 0, gains, 1.0)
    return shares.clamp_min(SMALLEST).log(), gains


def to_weights(logits: Tensor, gains: Tensor) -> Tensor:
    return gains * logits.softmax(1)


def logit_gradient(gradient: Tensor, weights: Tensor, gains: Tensor) -> Tensor:
    """dJ / dtheta from dJ / dw: w_q (dJ/dw_q - sum_r (w_r / gain) dJ/dw_r)."""
    mean = (weights * gradient).sum(1, keepdim=True) / torch.where(gains > 0, gains, 1.0)
    return weights * (gradient - mean)
