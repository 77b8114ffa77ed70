"""k(x, z) = exp(-|x - z|_1 / scale)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from gramless.kernels.base import Kernel
from gramless.kernels.scale import LARGEST, SCALE_CONSTRAINTS, Scale, decay, refuse_unsettled, settle_scale


@dataclass(frozen=True)
class Laplacian(Kernel):
    """The exponential of the city-block distance; the scale as in the Gaussian kernel."""

    scale: Scale = "mean"
    n_neighbours: int = 10

    name = "laplacian"

    _parameter_constraints = Kernel._parameter_constraints | SCALE_CONSTRAINTS

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        self.check(x)
        return replace(self, scale=settle_scale(self.scale, self.n_neighbours, city_block_distance, x, generator))

    def largest(self, width: int, dtype: torch.dtype) -> float:
        return min(torch.finfo(dtype).max, LARGEST) / (4 * width)

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        return decay(city_block_distance, x, z, refuse_unsettled(self.scale))

    def _self_values(self, x: Tensor) -> Tensor:
        return x.new_ones(len(x))


def city_block_distance(x: Tensor, z: Tensor) -> Tensor:
    """|x_i - z_j|_1: (n, m)."""
    return torch.cdist(x, z, p=1.0)
