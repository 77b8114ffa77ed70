"""ImageCLEF 2013's mean F-measures, MF-samples and MF-concepts (Villegas, Paredes, Thomee; the paper's section 5.1).

Its third measure, MAP-samples, is `mean_average_precision(scores, truth, over="samples")`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramless.metrics.inputs import as_indicators, labels_present


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
