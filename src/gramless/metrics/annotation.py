"""Keywords of pictures: the k best per picture, and how good they are.

COREL5k's recall, precision and N+ (the paper's section 5.2), and ImageCLEF 2013's mean F-measures (Villegas, Paredes,
Thomee; section 5.1), whose third measure is `mean_average_precision(scores, truth, over="samples")`.
"""

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


def mf_samples(predicted: Any, truth: Any) -> float:
    """Mean over samples of F = 2 |P and T| / (|P| + |T|), P and T a sample's predicted and true concepts; percent.

    F is the harmonic mean of |P and T| / |P| and |P and T| / |T|. An empty P or an empty T counts as 0, and so do both
    together: the organisers' script (evalannotat.m, revision 196) sets every 0 / 0 to 0, as scikit-learn does.
    No sample is left out.
    """
    predicted, truth = as_indicators(predicted, truth)
    return 100.0 * float(_f_measures(predicted, truth, axis=1).mean())


def mf_concepts(predicted: Any, truth: Any) -> float:
    """Mean over concepts of F = 2 |P and T| / (|P| + |T|), P and T the samples with the concept; percent.

    A concept that is never predicted counts as 0. One that no sample has is left out: whatever is predicted, its F says
    nothing. (The organisers' script counts it as 0; on their data every concept occurs, a split of it may lack some.)
    """
    predicted, truth = as_indicators(predicted, truth)
    present = labels_present(truth)
    return 100.0 * float(_f_measures(predicted, truth, axis=0)[present].mean())


def _f_measures(predicted: np.ndarray, truth: np.ndarray, axis: int) -> np.ndarray:
    """2 |P and T| / (|P| + |T|) along an axis, 0 where both are empty."""
    both = (predicted & truth).sum(axis=axis)
    sizes = predicted.sum(axis=axis) + truth.sum(axis=axis)
    return 2.0 * both / np.maximum(sizes, 1)
