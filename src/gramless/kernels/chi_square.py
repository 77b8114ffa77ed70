"""k(x, z) = exp(-D(x, z) / scale) with D(x, z) = sum_d (x_d - z_d)^2 / (x_d + z_d)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from gramless.kernels.base import Domain, Kernel
from gramless.kernels.scale import SCALE_CONSTRAINTS, Scale, decay, refuse_unsettled, settle_scale

TILE_ELEMENTS = 1 << 20  # of the n x m x features tensor that is in memory at once


@dataclass(frozen=True)
class ChiSquare(Kernel):
    """The exponential chi-square kernel of histograms; the scale as in the Gaussian kernel."""

    scale: Scale = "mean"
    n_neighbours: int = 10

    name = "chi2"
    domain = Domain.NONNEGATIVE

    _parameter_constraints = Kernel._parameter_constraints | SCALE_CONSTRAINTS

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        self.check(x)
        return replace(self, scale=settle_scale(self.scale, self.n_neighbours, chi_square_distance, x, generator))

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        return decay(chi_square_distance, x, z, refuse_unsettled(self.scale))

    def _self_values(self, x: Tensor) -> Tensor:
        return x.new_ones(len(x))


def chi_square_distance(x: Tensor, z: Tensor) -> Tensor:
    """sum_d (x_d - z_d)^2 / (x_d + z_d), with 0 / 0 = 0: (n, m)."""
    n, d = x.shape
    out = x.new_empty(n, len(z))
    rows = max(1, TILE_ELEMENTS // max(1, len(z) * d))
    tiny = torch.finfo(x.dtype).tiny
    for start in range(0, n, rows):
        tile = x[start : start + rows, None, :]  # (rows, 1, d)
        total = (tile + z).clamp_min_(tiny)  # (rows, m, d)
        out[start : start + rows] = (tile - z).square_().div_(total).sum(2)
    return out
