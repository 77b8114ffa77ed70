"""Which k labels of every sample to give, so that recall and precision are high on average over labels.

With TP_l right answers of a label l that N_l samples have and PP_l are given, the field's measures are the means over
labels R = mean TP_l / N_l and P = mean TP_l / PP_l. Neither is a mean over samples, and giving each sample its most
probable labels is not the best answer: it gives the frequent ones. The best answer gives each sample the labels with
the largest gains

    a_l p_l(x) + b_l,    a_l = F_R / N_l + F_P / PP_l,    b_l = -F_P TP_l / PP_l^2,

the derivative of F = F_beta(R, P) by one more answer of that label, p_l(x) being the probability that it is right
(Schultheis et al. 2024, macro-at-k metrics). a and b depend on the answer, which depends on them: Frank-Wolfe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from gramless.errors import DataError
from gramless.heads.decisions import TopK
from gramless.heads.labels import check_signs
from gramless.support.checks import check_array

N_ROUNDS = 40
DOUBTS = 3.0  # wrong answers counted on top of each label's, so that one lucky answer of a rare label is no precision 1


@dataclass(frozen=True, eq=False)
class TopGains:
    """The k labels with the largest gains by their probabilities; fewer where fewer can be given.

    A label that no sample had is never given, and none of no probability, NaN.
    """

    k: int
    slope: np.ndarray  # (n_labels,), positive
    cost: np.ndarray  # (n_labels,); minus infinity for a label that no sample had

    def __post_init__(self) -> None:
        TopK(self.k)  # refuses a k that cannot be
        check_array("the slopes of gains", self.slope, (None,), least=0.0)
        check_array("the costs of gains", self.cost, (len(self.slope),), finite=False)
        if (self.cost == np.inf).any():
            raise DataError("the costs of gains must be finite, or minus infinity.")

    @classmethod
    def learn(cls, probabilities: np.ndarray, signs: np.ndarray, k: int, recall_weight: float) -> Self:
        """From the probabilities (n, n_labels) of samples whose classifiers have not seen them; NaN is none.

        Right answers are counted by their probabilities, which are smooth, not by the signs, which would be learned by
        heart. N_ROUNDS times O(n n_labels).
        """
        check_signs("probabilities", probabilities, signs)
        if not (0.0 < recall_weight < np.inf):
            raise ValueError(f"recall_weight={recall_weight}: give a positive number, 1 for as much as precision.")
        p = np.nan_to_num(probabilities, nan=0.0)
        n_samples_with = (signs > 0).sum(0)
        known = n_samples_with > 0
        n_known = max(int(known.sum()), 1)
        n_samples_with = np.maximum(n_samples_with, 1)
        slope, cost = 1.0 / n_samples_with, np.where(known, 0.0, -np.inf)
        right, given = np.zeros(len(slope)), np.zeros(len(slope))
        for round_ in range(N_ROUNDS):
            chosen = _largest(slope * p + cost, k)
            share = 2.0 / (round_ + 2.0)  # the first answer replaces the zeros
            right += share * ((p * chosen).sum(0) - right)
            given += share * (chosen.sum(0) - given)
            counted = given + DOUBTS
            recall, precision = (np.sum(right[known] / n[known]) / n_known for n in (n_samples_with, counted))
            by_recall, by_precision = f_slopes(recall, precision, recall_weight)
            slope = by_recall / n_samples_with + by_precision / counted
            cost = np.where(known, -by_precision * right / counted**2, -np.inf)
        return cls(k, slope, cost)

    def gains(self, probabilities: np.ndarray) -> np.ndarray:
        """(n, n_labels): what giving each label to each sample is worth."""
        return self.slope * probabilities + self.cost

    def decide(self, probabilities: np.ndarray) -> np.ndarray:
        gains = self.gains(probabilities)
        return TopK(self.k).decide(gains) & (gains > -np.inf)


def _largest(gains: np.ndarray, k: int) -> np.ndarray:
    """As TopK, in linear time; which of equal ones wins does not matter here."""
    chosen = np.zeros(gains.shape, dtype=bool)
    k = min(k, gains.shape[1])
    np.put_along_axis(chosen, np.argpartition(gains, -k, axis=1)[:, -k:], True, axis=1)
    return chosen


def f_slopes(recall: float, precision: float, beta: float) -> tuple[float, float]:
    """Derivatives of F_beta = (1 + beta^2) R P / (beta^2 P + R) by R and by P."""
    recall, precision = max(recall, 1e-12), max(precision, 1e-12)
    denominator = (beta**2 * precision + recall) ** 2
    both = 1.0 + beta**2
    return both * (beta * precision) ** 2 / denominator, both * recall**2 / denominator
