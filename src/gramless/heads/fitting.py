"""Which classifiers go on the vectors of a map, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from gramless.heads.batched import fit_all_labels
from gramless.heads.ensemble import LinearOnSubset, fit_balanced_ensemble
from gramless.heads.losses import HuberizedHinge, MarginLoss, SquaredHinge
from gramless.heads.svm import Head, Weights, fit_linear_svms

Kind = Literal["huberized_hinge", "squared_hinge", "hinge", "balanced"]

FEW_LABELS = 10  # up to which LIBLINEAR, label by label, is as fast as all labels at once
N_ROUNDS = 10


@dataclass(frozen=True)
class LinearFit:
    """Fits one linear classifier per label on explicit vectors.

    "squared_hinge" and "huberized_hinge" are solved for all labels at once; "hinge", and the squared one for a few
    labels, by LIBLINEAR. "balanced" is the paper's ensemble: all positives and as many random negatives, averaged over
    ten rounds.
    """

    kind: Kind
    C: float
    width: float  # of the Huberised hinge
    max_iter: int
    budget: int
    seed: int

    def __call__(
        self, phi: np.ndarray, signs: np.ndarray, weights: Weights, sample_weight: np.ndarray | None = None
    ) -> Head:
        """weights : of the negatives and the positives of every label; sample_weight : (n,), times those"""
        if self.kind == "balanced":
            if sample_weight is not None:
                raise ValueError("head='balanced' draws as many negatives as positives, and takes no sample_weight.")
            fit = LinearOnSubset(phi, self.C, "squared_hinge", self.max_iter, self.seed)
            return fit_balanced_ensemble(fit, signs, N_ROUNDS, torch.Generator().manual_seed(self.seed))
        if self.kind == "huberized_hinge":
            return self._all_labels(HuberizedHinge(self.width), phi, signs, weights, sample_weight)
        if self.kind == "squared_hinge" and signs.shape[1] > FEW_LABELS:
            return self._all_labels(SquaredHinge(), phi, signs, weights, sample_weight)
        return fit_linear_svms(phi, signs, self.C, self.kind, weights, self.max_iter, self.seed, sample_weight)

    def _all_labels(
        self,
        loss: MarginLoss,
        phi: np.ndarray,
        signs: np.ndarray,
        weights: Weights,
        sample_weight: np.ndarray | None,
    ) -> Head:
        return fit_all_labels(
            *(phi, signs, loss, self.C, weights),
            budget=self.budget,
            sample_weight=sample_weight,
            max_iter=self.max_iter,
        )
