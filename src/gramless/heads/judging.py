"""How good out-of-fold scores are, unit by unit, so that two ways of scoring the same samples can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramless.heads.temperature import Temperature, of_all_classes
from gramless.metrics.labels import average_precisions


@dataclass(frozen=True, eq=False)
class Judgement:
    """Qualities between 0 and 1 of kinds of units, of which every kind counts as much.

    Classes have one kind: samples, each with the mean of whether its class is the first and of the probability that it
    gets, as scores are best calibrated. Right or wrong alone is too coarse on sixty samples. Labels have two kinds,
    samples that rank labels and labels that rank samples, each with its average precision.
    """

    qualities: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray, ...]

    @property
    def score(self) -> float:
        """In percent."""
        means = [np.average(q, weights=w) for q, w in zip(self.qualities, self.weights, strict=True)]
        return 100.0 * float(np.mean(means)) if means else 0.0

    def ahead_of(self, other: Judgement) -> float:
        """By how many standard errors of the paired differences this one is better; 0 where nothing can be told."""
        gain, variance = 0.0, 0.0
        for ours, theirs, weights in zip(self.qualities, other.qualities, self.weights, strict=True):
            if len(ours) < 2:
                return 0.0
            differences, shares = ours - theirs, weights / weights.sum()
            mean = shares @ differences
            gain += mean
            variance += np.square(shares) @ np.square(differences - mean)
        return float(gain / np.sqrt(variance)) if variance > 0.0 else 0.0


def judge(scores: np.ndarray, signs: np.ndarray, weights: np.ndarray, *, multilabel: bool) -> Judgement:
    """scores and signs : (n, n_labels), finite; weights : (n,), of the samples"""
    if not multilabel:
        truth = of_all_classes(signs).argmax(1)
        probabilities = Temperature.learn(scores, signs, weights).probabilities(scores)
        right = of_all_classes(scores).argmax(1) == truth
        return Judgement(((right + probabilities[np.arange(len(truth)), truth]) / 2.0,), (weights,))
    has = signs > 0
    samples, labels = has.any(1), has.any(0)
    qualities, shares = [], []
    if has.shape[1] > 1 and samples.any():
        qualities.append(average_precisions(scores[samples], has[samples]))
        shares.append(weights[samples])
    if labels.any():
        qualities.append(average_precisions(scores.T[labels], has.T[labels]))
        shares.append(np.ones(int(labels.sum())))
    return Judgement(tuple(qualities), tuple(shares))
