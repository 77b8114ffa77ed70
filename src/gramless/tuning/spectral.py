"""A spectral filter: one gain per eigenvalue of the landmark Gram matrix, trained on unlabelled pairs.

U = alpha Lambda^(-1/2) weights every eigenvector as if the landmarks were all there is. On other samples the weight
that brings <phi(x), phi(x')> closest to kappa(x, x') is another one, and N numbers can be learned from few pairs.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gramless.dmn import CollapsedMap
from gramless.maps import Projection
from gramless.tuning.descent import descend
from gramless.tuning.relative_error import error_gradient, held_out_error
from gramless.tuning.result import BestSoFar, TuningResult
from gramless.tuning.tuning_set import TuningSet, conclude, gather
from gramless.views import Views

STEPS = 120
STEP_SIZE = 0.05  # of the logarithm of a gain


def tune_filter(deep_map: CollapsedMap, X: Views, generator: torch.Generator) -> TuningResult:
    """phi(x) = kappa(x, S) alpha Lambda^(-1/2) diag(gains), gains from the relative error of unlabelled pairs.

    n N + n group / 2 kernel values, one product of n N n_components multiply-adds, then at most 120 steps of
    2 batch^2 n_components.
    """
    samples = gather(deep_map, X, generator)
    best = BestSoFar(samples.held_out.error(deep_map.projection.matrix))
    gains = fit_gains(deep_map.projection.matrix, samples, best, generator)
    projection = deep_map.projection if gains is None else apply_gains(deep_map.projection, gains)
    return conclude(deep_map, projection, samples, best)


def fit_gains(matrix: Tensor, samples: TuningSet, best: BestSoFar, generator: torch.Generator) -> Tensor | None:
    """Gains of the columns of U, by steps of their logarithms; None if none lowers the held-out error."""
    features, held_out = samples.features(matrix), samples.held_out.features(matrix)

    def gradient(log_gains: Tensor) -> Tensor:
        rows, gram = samples.batch(generator)
        phi = features[rows] * log_gains.exp()
        return (error_gradient(phi, gram) * phi).sum(0)

    def error(log_gains: Tensor) -> float:
        return held_out_error(held_out * log_gains.exp(), samples.held_out.gram)

    start = features.new_zeros(features.shape[1])
    log_gains = descend(
        start, gradient, error, best, step_size=STEP_SIZE, n_steps=STEPS, patience=STEPS, label="spectral filter"
    )
    return None if log_gains is None else log_gains.exp()


def apply_gains(projection: Projection, gains: Tensor) -> Projection:
    """U diag(gains), its columns again in the order of what they hold of the landmarks, lambda_j gain_j^2."""
    gains = gains.to(projection.matrix)
    eigenvalues, order = (projection.eigenvalues * gains.square()).sort(descending=True, stable=True)
    return replace(projection, matrix=(projection.matrix * gains)[:, order].contiguous(), eigenvalues=eigenvalues)
