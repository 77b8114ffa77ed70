"""Taking the private share of every landmark out of the landmark Gram matrix.

A kernel with a heavy flat tail of eigenvalues is, off the diagonal, a smooth kernel; on the diagonal each sample has a
share of its own besides. Nystrom's map inverts K_SS, share and all, and so comes out too small on samples that are not
landmarks. What the other landmarks cannot say about a landmark is its leave-one-out residual

    d_i = min_c |phi(x_i) - sum_{j != i} c_j phi(x_j)|^2 = 1 / [K_SS^-1]_ii,

an upper bound of its share. The deflated map is Nystrom's with K_SS - s diag(d) in the place of K_SS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from gramless.dmn import CollapsedMap
from gramless.maps import Projection, project
from gramless.progress import ProgressBar
from gramless.tuning.landmark_exact import exact_landmarks
from gramless.tuning.result import BestSoFar, TuningResult
from gramless.tuning.tuning_set import HeldOut, gather_held_out
from gramless.views import Views

SHARES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)  # of the largest s that leaves the matrix positive definite


def leave_one_out_residuals(gram: Tensor) -> Tensor:
    """d_i = 1 / [K^-1]_ii of a positive definite matrix: (N,)."""
    return torch.cholesky_inverse(torch.linalg.cholesky(gram)).diagonal().reciprocal()


def largest_deflation(gram: Tensor, residuals: Tensor) -> float:
    """The s at which K - s diag(d) becomes singular: the smallest eigenvalue of diag(d)^(-1/2) K diag(d)^(-1/2)."""
    roots = residuals.rsqrt()
    return torch.linalg.eigvalsh(roots[:, None] * gram * roots).min().item()


def deflations(gram: Tensor, n_components: int | None, dtype: torch.dtype) -> Iterator[Projection]:
    """Projections of K - s diag(d) for growing s, beginning with s = 0: one eigendecomposition each.

    A matrix that is singular or indefinite up to rounding has no share to take out, and s = 0 is all there is.
    """
    yield project(gram, n_components, dtype)
    eigenvalues = torch.linalg.eigvalsh(gram)
    rounding = max(len(gram) * torch.finfo(torch.float64).eps, torch.finfo(dtype).eps)  # as in `project`
    if eigenvalues.min() <= eigenvalues.max() * rounding:
        return
    residuals = leave_one_out_residuals(gram)
    largest = largest_deflation(gram, residuals)
    for share in SHARES[1:]:
        yield project(gram - share * largest * residuals.diag(), n_components, dtype)


def tune_deflation(deep_map: CollapsedMap, X: Views, generator: torch.Generator) -> TuningResult:
    """Choose s alone, on samples that are no landmarks, and keep the rows of the landmarks exact.

    Every entry in which a landmark takes part is then the kernel's own, but for the landmarks' diagonal (see
    LandmarkExactMap), if the map has as many components as landmarks; every other entry comes closer.
    n (N + n / 2) kernel values for the n samples that judge, 500 at most, N^2 / 2 among the landmarks, and eight N x N
    eigendecompositions at most.
    """
    samples = gather_held_out(deep_map, X, generator)
    best = BestSoFar(samples.error(deep_map.projection.matrix))
    chosen = best_deflation(landmark_gram(deep_map), deep_map, samples, best)
    if chosen is None:
        return TuningResult(deep_map, best.error, best.error, best.curve, len(samples))
    tuned = exact_landmarks(replace(deep_map, projection=chosen))
    return TuningResult(tuned, best.curve[0][1], best.error, best.curve, len(samples))


def landmark_gram(deep_map: CollapsedMap) -> Tensor:
    """K_SS in float64, from which every projection is made: (N, N)."""
    return deep_map.kernel.tensor(deep_map.landmarks, deep_map.landmarks, deep_map.dtype).double().cpu()


def best_deflation(gram: Tensor, deep_map: CollapsedMap, samples: HeldOut, best: BestSoFar) -> Projection | None:
    """The deflation with the lowest held-out error, or None if the map that was given has a lower one."""
    chosen: Projection | None = None
    with ProgressBar("deflation", len(SHARES)) as progress:
        for candidate in deflations(gram, deep_map.n_components, deep_map.dtype):
            if best.offer(samples.error(candidate.matrix)):
                chosen = candidate
            progress.advance()
    return chosen
