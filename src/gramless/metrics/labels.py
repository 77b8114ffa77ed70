"""How good predicted labels, rankings of them by any scores, and probabilities are.

COREL5k's recall, precision and N+ (the paper's section 5.2), and ImageCLEF 2013's mean F-measures (Villegas, Paredes,
Thomee; section 5.1), whose third measure is `mean_average_precision(scores, truth, over="samples")`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from gramless.errors import DataError


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


def mean_average_precision(scores: Any, truth: Any, over: Literal["samples", "concepts"] = "samples") -> float:
    """Mean of the average precisions in percent: scores (n, c), truth (n, c).

    over="samples": every sample ranks the concepts (ImageCLEF's MAP-samples); over="concepts": every concept ranks
    the samples. Samples, or concepts, without a positive have no average precision and are left out.

    The average precision is the mean over relevant items i of the precision among all items that score at least s_i:
    AP = 1/|T| sum over i in T of |{j in T: s_j >= s_i}| / |{j: s_j >= s_i}|, as scikit-learn's. ImageCLEF's own script
    shuffles tied scores; here they enter together, which needs no dice. Only the order of scores counts: negative ones
    are scores like others.
    """
    if over not in ("samples", "concepts"):
        raise ValueError(f"over={over!r}: give 'samples' (they rank concepts) or 'concepts' (they rank samples).")
    scores, truth = as_scores(scores), as_indicator(truth, "truth")
    check_same_shape(scores, truth, "scores")
    if over == "concepts":
        scores, truth = scores.T, truth.T
    ranked = truth.any(axis=1)
    if not ranked.any():
        raise DataError(
            f"truth has no positive for any of {len(truth)} {over}: no ranking can be judged. Check that these are the "
            "labels of these samples."
        )
    return 100.0 * float(average_precisions(scores[ranked], truth[ranked]).mean())


def average_precisions(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Of every row: sum over distinct thresholds of (gain in recall) x precision; every row has a positive."""
    order = np.argsort(-scores, axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    found = np.cumsum(np.take_along_axis(truth, order, axis=1), axis=1)  # (n, c), positives so far
    last = np.ones(scores.shape, dtype=bool)  # of its group of ties
    last[:, :-1] = scores[:, 1:] != scores[:, :-1]
    found_before = np.zeros_like(found)  # at the last threshold before this place
    found_before[:, 1:] = np.maximum.accumulate(np.where(last, found, 0), axis=1)[:, :-1]
    gains = np.where(last, found - found_before, 0)
    precisions = found / np.arange(1, scores.shape[1] + 1)
    return (gains * precisions).sum(axis=1) / found[:, -1]


class ReliabilityBin(NamedTuple):
    """Answers of similar probability: its mean, the share of them that is right, and how many there are."""

    predicted: float
    observed: float
    n_answers: int


N_BINS = 15


def reliability(probabilities: Any, truth: Any) -> tuple[ReliabilityBin, ...]:
    """The bins of equal width that hold an answer, from 0 to 1: probabilities (n, c), truth (n, c) of 0 / 1."""
    p, truth = as_scores(probabilities), as_indicator(truth, "truth")
    check_same_shape(p, truth, "probabilities")
    if ((p < 0.0) | (p > 1.0)).any():
        raise DataError(f"probabilities lie between 0 and 1, got {p.min():g} to {p.max():g}.")
    which = np.minimum((p * N_BINS).astype(int), N_BINS - 1).ravel()
    count, total, right = (
        np.bincount(which, weights, minlength=N_BINS) for weights in (None, p.ravel(), truth.ravel().astype(float))
    )
    return tuple(
        ReliabilityBin(float(total[b] / count[b]), float(right[b] / count[b]), int(count[b]))
        for b in np.flatnonzero(count)
    )


def expected_calibration_error(probabilities: Any, truth: Any) -> float:
    """How far probabilities are from what is observed, on average over answers: sum over bins of share x |difference|.

    Naeini, Cooper, Hauskrecht (2015). Most answers of many rare labels are near 0, and right about it.
    """
    bins = reliability(probabilities, truth)
    n = sum(found.n_answers for found in bins)
    return sum(found.n_answers * abs(found.predicted - found.observed) for found in bins) / max(n, 1)


def as_scores(scores: Any) -> np.ndarray:
    """Scores as a finite float64 array; the same memory where they already are one."""
    array = _as_numbers(scores, "scores").astype(np.float64, copy=False)
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(np.argwhere(bad)[0].tolist())
        raise DataError(
            f"{int(bad.sum())} of {array.size} scores are NaN or infinite, the first at {where}: they have no place in "
            "a ranking. Look at what computed them, or replace them by a finite score."
        )
    return array


def as_indicator(values: Any, name: str) -> np.ndarray:
    """An indicator as bool; the same memory where it already is."""
    array = _as_numbers(values, name)
    if array.dtype == bool:
        return array
    neither = (array != 0) & (array != 1)
    if neither.any():
        raise DataError(
            f"{name} holds {array[neither][0].item()!r}: an indicator is 1 or True where the sample has the label and "
            f"0 or False elsewhere. Of signs or scores make one with {name} > 0, or take the best with top_k."
        )
    return array == 1


def as_indicators(predicted: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and truth as bool (n, c), of one shape."""
    predicted, truth = as_indicator(predicted, "predicted"), as_indicator(truth, "truth")
    check_same_shape(predicted, truth, "predicted")
    return predicted, truth


def labels_present(truth: np.ndarray) -> np.ndarray:
    """Which labels at least one sample has, (c,) bool; at least one of them."""
    present = np.logical_or.reduce(truth, axis=0)  # (c,)
    if not present.any():
        raise DataError(
            f"truth, {truth.shape}, has no positive: a mean over the labels that occur is over nothing. Check that "
            "these are the labels of these samples."
        )
    return present


def check_same_shape(other: np.ndarray, truth: np.ndarray, name: str) -> None:
    if other.shape != truth.shape:
        raise DataError(
            f"{name} is {other.shape} and truth {truth.shape}: they are compared entry by entry. Give both the "
            "same samples and the same labels, in the same order."
        )


def _as_numbers(values: Any, name: str) -> np.ndarray:
    wanted = "one row per sample and one column per label"
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DataError(
            f"{name}, a {type(values).__name__}, is not an array of numbers ({error}). Give {wanted}; a sparse matrix "
            "as .toarray()."
        ) from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} is of type {array.dtype}, which cannot be compared. Give {wanted}, in numbers.")
    if array.ndim != 2:
        raise DataError(f"{name} has the shape {array.shape}: 2 dimensions are needed. Give {wanted}.")
    if array.size == 0:
        raise DataError(f"{name} has the shape {array.shape}: nothing can be measured on it. Give {wanted}.")
    return array
