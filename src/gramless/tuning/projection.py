"""The default: deflate, filter, then move the whole projection a little.

All three stages stay in the family phi(x) = kappa(x, S) U, so that a tuned map costs what the initial one does. Each
starts from the best before and is kept only if held-out samples say so.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gramless.dmn import CollapsedMap
from gramless.maps import Projection
from gramless.tuning.deflation import best_deflation, landmark_gram
from gramless.tuning.descent import descend
from gramless.tuning.relative_error import error_gradient, held_out_error
from gramless.tuning.result import BestSoFar, TuningResult
from gramless.tuning.spectral import apply_gains, fit_gains
from gramless.tuning.tuning_set import TuningSet, conclude, gather
from gramless.views import Views

STEPS = 300
PATIENCE = 100
STEP_SIZE = 1e-3  # of an entry of the mixing matrix, over the square root of its width


def tune_projection(deep_map: CollapsedMap, X: Views, generator: torch.Generator) -> TuningResult:
    """U from the relative error of unlabelled pairs, in three stages.

    1. Deflation: the private share of each landmark leaves the landmark Gram matrix (`deflation`).
    2. A filter: one gain per eigenvalue (`spectral`), from the deflated map and from the given one. A smooth tail is
       mostly taken out by deflation, a perfectly flat one by gains of the plain map's columns.
    3. Mixing: U <- U A, A from the identity by small steps. N^2 numbers from n samples would soon fit those samples
       alone, so it is here that the held-out error ends the search.

    Time: n N + n group / 2 kernel values, nine N x N eigendecompositions at most, 240 steps of 2 batch^2 n_components
    multiply-adds, and at most 300 of 2 batch^2 n_components + 2 batch n_components^2.
    Memory: n (N + n_components + group) values and six N x N matrices in float64.
    """
    samples = gather(deep_map, X, generator)
    best = BestSoFar(samples.held_out.error(deep_map.projection.matrix))
    gram = landmark_gram(deep_map)
    projection = best_deflation(gram, deep_map, samples.held_out, best) or deep_map.projection
    starts = [projection] if projection is deep_map.projection else [projection, deep_map.projection]
    for start in starts:
        gains = fit_gains(start.matrix, samples, best, generator)
        projection = projection if gains is None else apply_gains(start, gains)
    mixing = fit_mixing(projection.matrix, samples, best, generator)
    projection = projection if mixing is None else apply_mixing(projection, mixing, gram)
    return conclude(deep_map, projection, samples, best)


def fit_mixing(matrix: Tensor, samples: TuningSet, best: BestSoFar, generator: torch.Generator) -> Tensor | None:
    """A with a lower held-out error of U A, by small steps from the identity; None if there is none."""
    features, held_out = samples.features(matrix), samples.held_out.features(matrix)
    n_components = features.shape[1]

    def gradient(mixing: Tensor) -> Tensor:
        rows, gram = samples.batch(generator)
        return features[rows].T @ error_gradient(features[rows] @ mixing, gram)

    def error(mixing: Tensor) -> float:
        return held_out_error(held_out @ mixing, samples.held_out.gram)

    start = torch.eye(n_components, dtype=features.dtype, device=features.device)
    step_size = STEP_SIZE / n_components**0.5
    return descend(
        start,
        gradient,
        error,
        best,
        step_size=step_size,
        n_steps=STEPS,
        patience=PATIENCE,
        label="mixing of components",
    )


def apply_mixing(projection: Projection, mixing: Tensor, gram: Tensor) -> Projection:
    """U A, turned so that the landmarks' columns K_SS U A are orthogonal and in descending order.

    A rotation from the right leaves inner products alone; this one makes the first columns the ones that matter most,
    as they are in U = alpha Lambda^(-1/2), where the squared norms of K_SS U are the eigenvalues.
    """
    matrix = projection.matrix @ mixing.to(projection.matrix)
    columns = gram.to(matrix) @ matrix  # (N, n_components)
    squared_norms, turn = torch.linalg.eigh(columns.T @ columns)
    return replace(projection, matrix=matrix @ turn.flip(1), eigenvalues=squared_norms.flip(0).clamp_min(0.0))
