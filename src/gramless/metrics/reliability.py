"""Whether probabilities mean what they say: of all answers given 0.8, four in five should be right."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramless.errors import DataError
from gramless.metrics.inputs import as_indicator, as_scores, check_same_shape


class ReliabilityBin(NamedTuple):
    """Answers of similar probability: its mean, the share of them that is right, and how many there are."""

    predicted: float
    observed: float
    n_answers: int


def reliability(probabilities: Any, truth: Any, n_bins: int = 15) -> tuple[ReliabilityBin, ...]:
    """The bins of equal width that hold an answer, from 0 to 1: probabilities (n, c), truth (n, c) of 0 / 1."""
    if n_bins < 1:
        raise ValueError(f"n_bins={n_bins}: give 1 or more.")
    p, truth = as_scores(probabilities), as_indicator(truth, "truth")
    check_same_shape(p, truth, "probabilities")
    if ((p < 0.0) | (p > 1.0)).any():
        raise DataError(f"probabilities lie between 0 and 1, got {p.min():g} to {p.max():g}.")
    which = np.minimum((p * n_bins).astype(int), n_bins - 1).ravel()
    count, total, right = (
        np.bincount(which, weights, minlength=n_bins) for weights in (None, p.ravel(), truth.ravel().astype(float))
    )
    return tuple(
        ReliabilityBin(float(total[b] / count[b]), float(right[b] / count[b]), int(count[b]))
        for b in np.flatnonzero(count)
    )


def expected_calibration_error(probabilities: Any, truth: Any, n_bins: int = 15) -> float:
    """How far probabilities are from what is observed, on average over answers: sum over bins of share x |difference|.

    Naeini, Cooper, Hauskrecht (2015). Most answers of many rare labels are near 0, and right about it.
    """
    bins = reliability(probabilities, truth, n_bins)
    n = sum(found.n_answers for found in bins)
    return sum(found.n_answers * abs(found.predicted - found.observed) for found in bins) / max(n, 1)
