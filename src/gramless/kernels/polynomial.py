"""k(x, z) = (<x, z> + offset)^degree."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from gramless.kernels.base import Kernel, inverse_root
from gramless.support.checks import NOT_NEGATIVE, whole

HIGHEST = 100  # degree: of any two samples such a power is 0 or infinite, unless they are alike


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Powers of the inner product; homogeneous when the offset is 0, as in the paper."""

    degree: int = 2
    offset: float = 0.0

    name = "polynomial"

    _parameter_constraints = Kernel._parameter_constraints | {"degree": [whole(1, HIGHEST)], "offset": [NOT_NEGATIVE]}

    def __post_init__(self) -> None:
        degree: Any = self.degree
        if isinstance(degree, float) and degree.is_integer():
            object.__setattr__(self, "degree", int(degree))
        super().__post_init__()
        object.__setattr__(self, "offset", float(self.offset))  # a whole number may be longer than tensors hold

    def largest(self, width: int, dtype: torch.dtype) -> float:
        most = torch.finfo(dtype).max / 4
        base = most if self.normalize else most ** (1.0 / self.degree)
        return sqrt(max(base - self.offset, 0.0) / width)

    def pairwise(self, x: Tensor, z: Tensor) -> Tensor:
        if not self.normalize:
            return super().pairwise(x, z)
        self.check(x)
        self.check(z)
        # Normalised before the power: large features would overflow in it, small ones vanish.
        cosine = (x @ z.T + self.offset) * inverse_root(x.square().sum(1) + self.offset)[:, None]
        return (cosine * inverse_root(z.square().sum(1) + self.offset)) ** self.degree

    def diagonal(self, x: Tensor) -> Tensor:
        if not self.normalize:
            return super().diagonal(x)
        self.check(x)
        base = x.square().sum(1) + self.offset
        return base * inverse_root(base).square()

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        return (x @ z.T + self.offset) ** self.degree

    def _self_values(self, x: Tensor) -> Tensor:
        return (x.square().sum(1) + self.offset) ** self.degree
