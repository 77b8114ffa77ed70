"""From the scores of a label's classifier to the probability that a sample has the label.

The scores of different labels do not compare: a frequent keyword's classifier gives higher ones than a rare one's for
every picture. What compares is how unusual a score is for its label, and how frequent the label is. The statistics
come from training samples, so that a picture's answer does not depend on the pictures beside it, scored by classifiers
that have not seen them: out-of-fold scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from gramless.errors import DataError
from gramless.heads.labels import check_signs
from gramless.support.checks import check_array

CONSTANT = 1e-6  # a spread under this share of the typical label's is none
MOST_SCORES = 4_000_000  # that the three numbers shared by all labels are learned on
LEAST_SLOPE = 1e-3  # scores that say nothing, or the opposite, still keep their order within a label
BEYOND_ALL = 80.0  # asinh of numbers near the largest float32
FARTHEST = 1_000.0  # asinh of the largest float is 710; infinity would meet an offset of minus infinity


@dataclass(frozen=True, eq=False)
class Calibration:
    """A score f has the probability least + (most - least) sigmoid(slope asinh((f - shift) / scale) + offset).

    shift and scale standardise the scores of each label. A rare label has few positives to learn a probability from,
    so that the slope is shared by all labels, and the offset is an affine function of the log odds of the label, also
    shared: three numbers in all, by maximum likelihood. Standardised scores of rare labels have long tails, hence
    asinh, the identity near 0 and logarithmic far out: on validation data it beat the score itself and its square.

    However high a score is, n samples that had the label do not say more than Laplace's rule of succession: most is
    (n + 1) / (n + 2), and with m that had it not, least is 1 / (m + 2); they are the targets of Platt (1999). One
    example gives two thirds at most. On COREL5k's out-of-fold scores, learned on one half and judged on the other, the
    log loss fell for labels of every frequency (all together by 0.7 %).
    """

    shift: np.ndarray  # (n_labels,)
    scale: np.ndarray  # (n_labels,), positive
    offset: np.ndarray  # (n_labels,); infinite for a label that no sample had, or that all had
    slope: float
    least: np.ndarray  # (n_labels,), of all probabilities; 0 for a label that no sample had
    most: np.ndarray  # (n_labels,); 1 for a label that all samples had

    def __post_init__(self) -> None:
        shape = (len(self.shift),)
        check_array("the shifts of a calibration", self.shift, (None,))
        check_array("the scales of a calibration", self.scale, shape, least=np.finfo(np.float64).tiny)
        check_array("the offsets of a calibration", self.offset, shape, finite=False)
        if not 0.0 < self.slope < np.inf:
            raise DataError(f"the slope of a calibration must be positive and finite, got {self.slope}.")
        check_array("the least probabilities of a calibration", self.least, shape, least=0.0)
        check_array("the largest probabilities of a calibration", self.most, shape, least=0.0)
        if (self.least > self.most).any() or (self.most > 1.0).any():
            raise DataError(
                "the probabilities of a calibration must lie between their least and their largest, up to 1."
            )

    @classmethod
    def learn(cls, scores: np.ndarray, signs: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """From out-of-fold scores (n, n_labels); NaN, no score, is left out. Of very many rows some are skipped.

        weights : (n,), of the samples in the likelihood and in how frequent a label is; None counts all alike
        A label whose scores do not vary keeps the typical scale, so that rounding is not blown up into a ranking.
        """
        check_signs("scores", scores, signs)
        positive, negative = (signs > 0).any(0), (signs < 0).any(0)
        varied = np.logical_and(positive, negative)
        shift, scale = _standard(scores, varied)
        weights = np.ones(len(signs)) if weights is None else weights * (len(signs) / weights.sum())
        n_positive, n_negative = weights @ (signs > 0), weights @ (signs < 0)
        odds = logit((n_positive + 0.5) / (n_positive + n_negative + 1.0))
        some = slice(None, None, 1 + scores.size // MOST_SCORES)
        unusual = _unusual(scores[some], shift, scale)[:, varied]
        slope, by_odds, constant = _shared_logistic(unusual, odds[varied], signs[some][:, varied] > 0, weights[some])
        offset = np.where(varied, constant + by_odds * odds, np.where(positive, np.inf, -np.inf))
        least = np.where(positive, 1.0 / (n_negative + 2.0), 0.0)
        most = np.where(negative, (n_positive + 1.0) / (n_positive + 2.0), 1.0)
        return cls(shift, scale, offset, slope, least, most)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """(n, n_labels), between 0 and 1; within a label nothing changes places. No score, NaN, stays one."""
        if scores.shape[-1] != len(self.shift):
            raise DataError(f"got scores of {scores.shape[-1]} labels, but {len(self.shift)} are calibrated.")
        certain = expit(self.slope * _unusual(scores, self.shift, self.scale) + self.offset)
        return self.least + (self.most - self.least) * certain

    def scores(self, probabilities: np.ndarray) -> np.ndarray:
        """At which labels reach these probabilities, (n_labels,) both; one that is never reached is beyond all."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (probabilities - self.least) / (self.most - self.least)
            unusual = (logit(shares.clip(0.0, 1.0)) - self.offset) / self.slope
        return self.shift + self.scale * np.sinh(np.nan_to_num(unusual, nan=BEYOND_ALL).clip(-BEYOND_ALL, BEYOND_ALL))


def in_units_of(scores: np.ndarray, others: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Scores (n, n_labels) with the mean and the spread that other scores of the same samples have, label by label.

    On vectors that labels have shaped, heads score in other units than on the vectors of before, which their left-out
    scores are of: without this, new samples would seem less unusual than they are.
    """
    varied = np.logical_and((signs > 0).any(0), (signs < 0).any(0))
    (shift, scale), (shift_then, scale_then) = _standard(scores, varied), _standard(others, varied)
    return (scores - shift) / scale * scale_then + shift_then


def _standard(scores: np.ndarray, varied: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every label's finite scores."""
    known = np.isfinite(scores)
    count = np.maximum(known.sum(0), 1)
    scores = np.where(known, scores, 0.0)
    unit = np.maximum(np.abs(scores).max(0), np.finfo(np.float64).tiny)  # squares of huge scores would overflow
    mean = (scores / unit).sum(0) / count
    deviation = unit * np.sqrt(np.square(np.where(known, scores / unit - mean, 0.0)).sum(0) / count)
    mean = unit * mean
    spread = deviation[varied & (deviation > 0.0)]
    typical = float(np.median(spread)) if len(spread) else 1.0
    return mean, np.where(varied & (deviation > CONSTANT * typical), deviation, typical)


def _unusual(scores: np.ndarray, shift: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """How far out scores lie for their labels, (n, n_labels); NaN stays NaN."""
    with np.errstate(over="ignore"):
        return np.clip(np.arcsinh((scores - shift) / scale), -FARTHEST, FARTHEST)


def _shared_logistic(
    unusual: np.ndarray, odds: np.ndarray, has: np.ndarray, weights: np.ndarray
) -> tuple[float, float, float]:
    """Slope of the scores (n, n_labels), slope of the labels' log odds, and constant, by logistic regression."""
    known = ~np.isnan(unusual)
    features = np.column_stack([unusual[known], np.broadcast_to(odds, unusual.shape)[known]])
    answers = has[known]
    if not 0 < answers.sum() < len(answers):
        return LEAST_SLOPE, 1.0, 0.0
    counted = np.broadcast_to(weights[:, None], unusual.shape)[known]
    fitted = LogisticRegression(C=1e4, max_iter=1_000).fit(features, answers, counted)
    slope, by_odds = fitted.coef_[0]
    return max(float(slope), LEAST_SLOPE), float(by_odds), float(fitted.intercept_[0])
