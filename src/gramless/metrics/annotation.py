"""Keywords of pictures: the k best per picture, and COREL5k's recall, precision and N+ (the paper's section 5.2)."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramless.metrics.inputs import as_indicators, as_scores, labels_present


@dataclass(frozen=True)
class AnnotationScores:
    """How well keywords were predicted; all but n_plus in percent."""

    recall: float
    precision: float
    n_plus: int
    f1: float


def top_k(scores: Any, k: int = 5) -> np.ndarray:
    """The k best-scored labels of every row of scores (n, c), as an (n, c) array of bool.

    Of labels with equal scores the one with the lower number comes first. If k > c every label is taken.
    """
    try:
        k = operator.index(k)
    except TypeError:
        raise ValueError(f"k={k!r}: the number of labels per row is a whole number, 1 or more.") from None
    if k < 1:
        raise ValueError(f"k={k}: at least one label is taken per row. Give k=1 or more.")
    return best_of_rows(as_scores(scores), k)


def best_of_rows(scores: np.ndarray, k: int) -> np.ndarray:
    """`top_k` of numbers that need no check; they may be infinite."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]  # (n, min(k, c))
    taken = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(taken, best, True, axis=1)
    return taken


def annotation_scores(predicted: Any, truth: Any) -> AnnotationScores:
    """Mean recall R and mean precision P over keywords, N+ and F1, of two indicator matrices (n, c).

    With the n_w pictures that have keyword w, the m_w for which it was predicted and the h_w in both,
    R = mean of h_w / n_w, P = mean of h_w / m_w (0 if m_w = 0), N+ = number of w with h_w > 0, F1 = 2 R P / (R + P).

    All are over the keywords with n_w > 0: COREL5k's standard protocol averages over the keywords of the test set, for
    the others have no recall. Predicting one of the others costs nothing but the place of a keyword that counts.
    """
    predicted, truth = as_indicators(predicted, truth)
    present = labels_present(truth)
    hits = (predicted & truth).sum(axis=0)[present]
    recalls = hits / truth.sum(axis=0)[present]
    precisions = hits / np.maximum(predicted.sum(axis=0)[present], 1)
    recall, precision = 100.0 * float(recalls.mean()), 100.0 * float(precisions.mean())
    f1 = 2.0 * recall * precision / (recall + precision) if hits.any() else 0.0
    return AnnotationScores(recall, precision, int((hits > 0).sum()), f1)
