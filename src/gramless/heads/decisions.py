"""From scores to answers: decide(scores) says for every sample and label, (n, n_labels), whether the sample has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from gramless.errors import DataError
from gramless.heads.labels import check_of_signs
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
    def at_precision(cls, scores: np.ndarray, signs: np.ndarray, precision: float) -> Self:
        """One threshold for all labels, the lowest at which so large a share of all given labels is right.

        On out-of-fold scores that compare across labels, such as probabilities, (n, n_labels); NaN is no score. Where
        no threshold reaches that precision, nothing is given: infinity.
        """
        check_of_signs("scores", scores, signs)
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
        return cls.between(ordered[last], below[last])

    @classmethod
    def between(cls, given: float, refused: float) -> Self:
        """One that the one score is above and the other, lower one is not."""
        if refused == -np.inf:
            return cls(float(np.nextafter(given, -np.inf)))
        middle = (given + refused) / 2.0
        return cls(float(middle if middle < given else refused))

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores > self.thresholds
