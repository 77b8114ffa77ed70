"""k(x, z) = sum_d min(x_d, z_d)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.kernels.base import Domain, Kernel
from gramless.kernels.laplacian import city_block_distance


@dataclass(frozen=True)
class Intersection(Kernel):
    """Histogram intersection, p.s.d. on non-negative data.

    Evaluated through min(a, b) = (a + b - |a - b|) / 2.
    """

    name = "intersection"
    domain = Domain.NONNEGATIVE

    def largest(self, width: int, dtype: torch.dtype) -> float:
        return torch.finfo(dtype).max / (4 * width)

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        sums = x.sum(1)[:, None] + z.sum(1)  # (n, m)
        return sums.sub_(city_block_distance(x, z)).mul_(0.5)

    def _self_values(self, x: Tensor) -> Tensor:
        return x.sum(1)
