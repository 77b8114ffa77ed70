"""k(x, z) = exp(-|x - z|^2 / (2 scale^2))."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from gramless.kernels.base import Kernel
from gramless.kernels.scale import SCALE_CONSTRAINTS, Scale, fits_float32, refuse_unsettled, settle_scale

ROUNDING = 1e-4  # of the exponent, at most
COINCIDING = 1e-13  # of the squared size of the data, in float64


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The RBF kernel; its scale is a number, the mean distance, or the mean distance to the nearest neighbours."""

    scale: Scale = "mean"
    n_neighbours: int = 10

    name = "gaussian"

    _parameter_constraints = Kernel._parameter_constraints | SCALE_CONSTRAINTS

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        self.check(x)
        return replace(self, scale=settle_scale(self.scale, self.n_neighbours, distance, x, generator))

    def largest(self, width: int, dtype: torch.dtype) -> float:
        return super().largest(4 * width, torch.float64)  # distances that float32 cannot hold are taken in float64

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        scale = refuse_unsettled(self.scale)
        if x.dtype == torch.float32 and not fits_float32(scale):
            return self._values(x.double(), z.double()).float()
        return squared_distance(x, z, ROUNDING * scale**2).mul_(-0.5 / scale**2).exp_()

    def _self_values(self, x: Tensor) -> Tensor:
        return x.new_ones(len(x))


def distance(x: Tensor, z: Tensor) -> Tensor:
    """|x_i - z_j|: (n, m), exactly 0 where only rounding keeps two samples apart."""
    squared = squared_distance(x, z, 0.0)
    size = (x - z.mean(0)).square().sum(1).max() + (z - z.mean(0)).square().sum(1).max()
    return torch.where(squared > COINCIDING * size, squared, 0.0).sqrt()


def squared_distance(x: Tensor, z: Tensor, tolerance: float) -> Tensor:
    """|x_i - z_j|^2 by one matrix product: (n, m), with rounding below the tolerance.

    Both sides are first moved so that z has mean zero: the three terms then cancel as little as they can. Where they
    still would, samples being further apart than float32 resolves at this tolerance, float64 is used.
    """
    centre = z.mean(0)
    a, b = x - centre, z - centre
    largest = a.square().sum(1).max() + b.square().sum(1).max()
    if x.dtype == torch.float32 and not torch.finfo(x.dtype).eps * largest <= tolerance:  # nor if it overflows
        return squared_distance(x.double(), z.double(), tolerance).float()
    inner = torch.addmm(b.square().sum(1)[None, :], a, b.T, alpha=-2.0)
    return inner.add_(a.square().sum(1)[:, None]).clamp_min_(0.0)
