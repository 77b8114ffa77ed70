"""From the scores of classes to probabilities that sum to one, without changing which class is the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from gramless.errors import DataError
from gramless.heads.labels import check_of_signs

SLOPES = (-7.0, 7.0)  # logarithms of the slopes to choose from, times the spread of the scores


@dataclass(frozen=True)
class Temperature:
    """Probabilities of classes are softmax(slope scores); with two classes and one score, sigmoid(slope score).

    One number, by maximum likelihood on out-of-fold scores: sixty samples tell it, and a class that has the highest
    score has the highest probability.
    """

    slope: float

    def __post_init__(self) -> None:
        if not 0.0 < self.slope < np.inf:
            raise DataError(f"the slope of a temperature must be positive and finite, got {self.slope}.")

    @classmethod
    def learn(cls, scores: np.ndarray, signs: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """From out-of-fold scores (n, n_labels), signs of the same shape, and weights (n,) of the samples.

        Rows that have no score, NaN, are left out. The truth is taken to be right in n + 1 of n + 2 cases, so that
        scores that never err are not certain of anything.
        """
        check_of_signs("scores", scores, signs)
        known = np.isfinite(scores).all(1)
        logits, truth = of_all_classes(scores[known]), of_all_classes(signs[known]).argmax(1)
        spread = float(np.abs(logits).mean()) if known.any() else 0.0
        if not spread:
            return cls(1.0)
        weights = np.ones(len(truth)) if weights is None else weights[known]
        doubt = 1.0 / (len(truth) + 2.0)
        aims = np.full(logits.shape, doubt / logits.shape[1])
        aims[np.arange(len(truth)), truth] += 1.0 - doubt

        def surprise(log_slope: float) -> float:
            return float(-(weights @ (aims * log_softmax(np.exp(log_slope) / spread * logits, axis=1)).sum(1)))

        found = minimize_scalar(surprise, bounds=SLOPES, method="bounded", options={"xatol": 1e-4})
        return cls(float(np.exp(found.x)) / spread)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """(n, n_classes), each row summing to one."""
        logits = of_all_classes(scores)
        below = logits - logits.max(axis=1, keepdims=True)  # before the slope, or the largest could overflow
        with np.errstate(over="ignore"):
            return softmax(self.slope * below, axis=1)


def of_all_classes(scores: np.ndarray) -> np.ndarray:
    """One column per class: of two classes, the one score against its negative, half each."""
    return np.column_stack([-scores, scores]) / 2.0 if scores.shape[1] == 1 else scores
