"""k(x, z) = exp(-|x - z|^2 / (2 scale^2))."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from gramless.kernels.base import Kernel
from gramless.kernels.scale import Scale, check_scale, refuse_unsettled, settle_scale


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The RBF kernel; its scale is a number, the mean distance, or the mean distance to the nearest neighbours."""

    scale: Scale = "mean"
    n_neighbours: int = 10

    name = "gaussian"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        def distance(a: Tensor, b: Tensor) -> Tensor:
            return squared_distance(a, b).sqrt()

        return replace(self, scale=settle_scale(self.scale, self.n_neighbours, distance, x, generator))

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        scale = refuse_unsettled(self.scale)
        return squared_distance(x, z).mul_(-0.5 / scale**2).exp_()

    def _self_values(self, x: Tensor) -> Tensor:
        return x.new_ones(len(x))


def squared_distance(x: Tensor, z: Tensor) -> Tensor:
    """|x_i - z_j|^2 by one matrix product: (n, m).

    Both sides are first moved so that z has mean zero: the three terms then cancel as little as they can.
    """
    centre = z.mean(0)
    x, z = x - centre, z - centre
    inner = torch.addmm(z.square().sum(1)[None, :], x, z.T, alpha=-2.0)
    return inner.add_(x.square().sum(1)[:, None]).clamp_min_(0.0)
