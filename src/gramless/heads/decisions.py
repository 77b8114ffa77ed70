"""From scores to answers: decide(scores) says for every sample and label, (n, n_labels), whether the sample has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from gramless.errors import DataError
from gramless.heads.labels import check_signs
from gramless.metrics.labels import best_of_rows
from gramless.support.checks import check_array


@dataclass(frozen=True)
class TopK:
    """The k labels with the best scores, all if there are fewer; of equal scores the lower label number wins."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"at least one label per sample must be chosen, got k={self.k}.")

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return best_of_rows(scores, self.k)


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
        check_signs("scores", scores, signs)
        weights = np.ones(len(signs)) if weights is None else weights
        thresholds = [_best_threshold(*column, weights, least_f1) for column in zip(scores.T, signs.T, strict=True)]
        return cls(np.array(thresholds))

    @classmethod
    def at_precision(cls, scores: np.ndarray, signs: np.ndarray, precision: float) -> Self:
        """One threshold for all labels, the lowest at which so large a share of all given labels is right.

        On out-of-fold scores that compare across labels, such as probabilities, (n, n_labels); NaN is no score. Where
        no threshold reaches that precision, nothing is given: infinity.
        """
        check_signs("scores", scores, signs)
        if not 0.0 < precision <= 1.0:
            raise ValueError(f"precision={precision}: give a share of right labels above 0 and up to 1.")
        known = ~np.isnan(scores)
        order = np.argsort(-scores[known], kind="stable")
        ordered, right = scores[known][order].astype(float), np.cumsum(signs[known][order] > 0)
        below = np.append(ordered[1:], -np.inf)
        enough = (right >= precision * np.arange(1, len(right) + 1)) & (ordered != below)
        if not enough.any():
            return cls(np.inf)
        last = int(np.flatnonzero(enough)[-1])
        return cls(_between(ordered[last], below[last]))

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
    return _between(scores[last], below[last])


def _between(given: float, refused: float) -> float:
    """A threshold that the one score is above and the other, lower one is not."""
    if refused == -np.inf:
        return float(np.nextafter(given, -np.inf))
    middle = (given + refused) / 2.0
    return float(middle if middle < given else refused)
