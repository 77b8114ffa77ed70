"""Average precision of rankings by score, from raw SVM margins as well as from probabilities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gramless.errors import DataError
from gramless.metrics.inputs import as_indicator, as_scores, check_same_shape


def average_precision(scores: Any, relevant: Any) -> float:
    """Average precision of one ranking, in [0, 1]: scores (c,), relevant (c,) of 0 / 1; NaN if nothing is relevant.

    The mean over relevant items i of the precision among all items that score at least s_i:
    AP = 1/|T| sum over i in T of |{j in T: s_j >= s_i}| / |{j: s_j >= s_i}|.
    Without ties it is the mean of c / rank(c) over the relevant items in the order of their scores. Tied items enter
    together, as in scikit-learn, so the order in which they are given does not matter. Only the order of scores counts:
    negative ones are scores like others.
    """
    scores, relevant = as_scores(scores, ndim=1), as_indicator(relevant, "relevant", ndim=1)
    check_same_shape(scores, relevant, "scores", "relevant")
    if not relevant.any():
        return float("nan")
    return float(average_precisions(scores[None], relevant[None])[0])


def mean_average_precision(scores: Any, truth: Any, over: Literal["samples", "concepts"] = "samples") -> float:
    """Mean of the average precisions in percent: scores (n, c), truth (n, c).

    over="samples": every sample ranks the concepts (ImageCLEF's MAP-samples); over="concepts": every concept ranks
    the samples. Samples, or concepts, without a positive have no average precision and are left out. ImageCLEF's own
    script shuffles tied scores; here they enter together (see average_precision), which needs no dice.
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
