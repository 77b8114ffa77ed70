"""From scores to answers: decide(scores) says for every sample and label, (n, n_labels), whether the sample has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from gramless.errors import DataError
from gramless.support.checks import check_array


@dataclass(frozen=True)
class TopK:
    """The k labels with the best scores, all if there are fewer; of equal scores the lower label number wins."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"at least one label per sample must be chosen, got k={self.k}.")

    def decide(self, scores: np.ndarray) -> np.ndarray:
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        chosen = np.zeros(scores.shape, dtype=bool)
        np.put_along_axis(chosen, best, True, axis=1)
        return chosen


@dataclass(frozen=True, eq=False)
class Threshold:
    """Every label whose score is above its threshold: one number for all labels, or one per label."""

    thresholds: float | np.ndarray = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.thresholds, np.ndarray):
            check_array("thresholds", self.thresholds, (None,))
        elif np.isnan(self.thresholds):
            raise DataError("a threshold must be a number, got NaN.")

    @classmethod
    def learn(
        cls, scores: np.ndarray, signs: np.ndarray, weights: np.ndarray | None = None, least_f1: float = 0.1
    ) -> Self:
        """Per label the threshold with the highest F1 on out-of-fold scores (n, n_labels); NaN is no score.

        weights : (n,), how much every sample counts; None counts all alike
        Of thresholds with the same F1 the highest is taken; it lies halfway between two scores. Where no threshold
        reaches least_f1 the classifier knows next to nothing, and the best F1 is that of saying yes to nearly all: such
        a label is given only above the highest score seen (after SCutFBR.1, Yang 2001). A label without a scored
        positive keeps the threshold 0.

        Sorting costs O(n log n) per label, all thresholds together O(n).
        """
        if scores.shape != signs.shape:
            raise DataError(f"scores of shape {scores.shape} do not belong to signs of shape {signs.shape}.")
        weights = np.ones(len(signs)) if weights is None else weights
        thresholds = [_best_threshold(*column, weights, least_f1) for column in zip(scores.T, signs.T, strict=True)]
        return cls(np.array(thresholds))

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores > self.thresholds


def _best_threshold(scores: np.ndarray, sign: np.ndarray, weights: np.ndarray, least_f1: float) -> float:
    known = ~np.isnan(scores)
    order = np.argsort(-scores[known], kind="stable")
    scores, positive = scores[known][order].astype(float), sign[known][order] > 0
    if not positive.any():
        return 0.0
    given = weights[known][order]
    right = given * positive
    f1 = 2.0 * np.cumsum(right) / (np.cumsum(given) + right.sum())  # of giving the label to the best 1, 2, ... samples
    below = np.append(scores[1:], -np.inf)
    f1[scores == below] = -1.0  # equal scores are given or refused together
    last = int(f1.argmax())
    if f1[last] < least_f1:
        return float(scores[0])
    if last == len(scores) - 1:
        return float(np.nextafter(scores[last], -np.inf))
    middle = (scores[last] + scores[last + 1]) / 2.0
    return float(middle if middle < scores[last] else scores[last + 1])
