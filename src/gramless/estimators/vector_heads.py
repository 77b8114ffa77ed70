"""Classifiers on the explicit vectors of a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramless.estimators.head_settings import weights_of_samples
from gramless.heads import Contest, Head, SquaredHinge, Weights, fit_all_labels
from gramless.heads.choosing import BY_RIDGE, fit_ridges
from gramless.support.config import current_budget


@dataclass(frozen=True, eq=False)
class VectorFit:
    """The labels of samples, and how heads are fitted to them.

    sides : weights of the negatives and the positives of every label; sample_weight : (n,), times those
    """

    signs: np.ndarray
    sides: Weights
    sample_weight: np.ndarray | None
    seed: int

    def contest(self, vectors: np.ndarray, multilabel: bool) -> Contest:
        """Of heads on these vectors (n, d)."""

        def fit(kind: str, C: float, rows: np.ndarray) -> Head:
            return self._fit(vectors, kind, C, rows)

        weights = weights_of_samples(self.signs, self.sides, self.sample_weight)
        return Contest(vectors, self.signs, weights, multilabel, fit, self.seed)

    def head(self, vectors: np.ndarray, kind: str, C: float) -> Head:
        """On the vectors of all samples."""
        if kind in BY_RIDGE:
            return fit_ridges(self.contest(vectors, False), C)
        return self._fit(vectors, kind, C, np.arange(len(vectors)))

    def _fit(self, vectors: np.ndarray, kind: str, C: float, rows: np.ndarray) -> Head:
        assert kind == "squared_hinge", kind
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return fit_all_labels(
            *(vectors[rows], self.signs[rows], SquaredHinge(), C, self.sides),
            budget=current_budget(),
            sample_weight=weights,
        )
