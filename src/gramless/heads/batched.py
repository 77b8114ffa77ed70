"""The linear classifiers of all labels on explicit vectors, as many at a time as the memory budget holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gramless.errors import DataError
from gramless.heads.losses import MarginLoss
from gramless.heads.newton import Design, PrimalProblem, sides_of, solve, warn_if_unfinished
from gramless.heads.svm import Head, Weights
from gramless.support.budget import row_blocks
from gramless.support.progress import ProgressBar

BYTES_PER_NUMBER = 200  # up to two dozen float64 matrices (n_labels, n) are alive at once (184 bytes measured)


def fit_all_labels(
    phi: Any,
    signs: np.ndarray,
    loss: MarginLoss,
    C: float,
    weights: Weights,
    *,
    budget: int,
    sample_weight: np.ndarray | None = None,
    tolerance: float = 1e-4,
    max_iter: int = 1000,
) -> Head:
    """Fit every column of signs; a label without a positive or without a negative gets its constant answer.

    phi : (n, d), float32 or float64, a tensor on any device or an array
    signs : (n, n_labels), +1, -1, or 0 where nobody knows; where nothing is known at all the answer is -1
    weights : per label, those of its negative and of its positive samples; sample_weight : (n,), times those
    budget : bytes for all that is kept beside phi; as many labels are solved at a time as fit
    tolerance : a label has converged when the norm of its gradient is at most this share of that at w = 0, and its
        duality gap at most this share of its objective
    """
    phi = torch.as_tensor(phi).detach()
    sides = sides_of(C, weights, signs.shape[1])
    if phi.ndim != 2 or len(phi) != len(signs):
        raise DataError(f"{len(signs)} samples have signs, but the vectors have shape {tuple(phi.shape)}.")
    design = Design(phi)
    coefficients = torch.zeros(signs.shape[1], phi.shape[1], dtype=phi.dtype).numpy()
    positive, negative = (signs > 0).any(0), (signs < 0).any(0)
    intercepts = np.where(positive & ~negative, 1.0, -1.0).astype(coefficients.dtype)
    varied = np.flatnonzero(positive & negative)
    n_iter, n_unfinished = 1, 0
    with ProgressBar("classifiers", signs.shape[1]) as progress:
        progress.advance(signs.shape[1] - len(varied))
        for block in row_blocks(len(varied), float(BYTES_PER_NUMBER * sum(phi.shape)), budget):
            labels = varied[block]
            problem = PrimalProblem.of(design, loss, signs[:, labels].T, sides[labels], sample_weight)
            w, n_steps, n_left = solve(problem, tolerance, max_iter, progress)
            coefficients[labels] = w[:, :-1].cpu().numpy()
            intercepts[labels] = w[:, -1].cpu().numpy()
            n_iter, n_unfinished = max(n_iter, n_steps), n_unfinished + n_left
    warn_if_unfinished(n_unfinished, len(intercepts), f"{max_iter} Newton steps")
    return Head(coefficients, intercepts, n_iter)
