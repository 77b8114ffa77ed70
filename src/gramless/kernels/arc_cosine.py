"""k_n(x, z) = |x|^n |z|^n J_n(angle) / pi, the kernels of infinitely wide networks (Cho and Saul, 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

import torch
from torch import Tensor

from gramless.kernels.base import Kernel, inverse_root
from gramless.support.checks import whole


@dataclass(frozen=True)
class ArcCosine(Kernel):
    """Order 0: step units, order 1: rectified linear units, order 2: rectified quadratic units.

    At the origin the angle is taken as a right one, the limit of a step unit that answers 1/2 to zero: this keeps
    order 0 p.s.d., with k(0, z) = 1/2 for every z.
    """

    order: int = 1

    name = "arccos"

    _parameter_constraints = Kernel._parameter_constraints | {"order": [whole(0, 2)]}

    def largest(self, width: int, dtype: torch.dtype) -> float:
        most = torch.finfo(dtype).max / 4
        return sqrt((most if self.order < 2 else sqrt(most)) / width)  # k(x, x) is 3 |x|^4 at order 2

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        inverse_x, inverse_z = inverse_root(x.square().sum(1)), inverse_root(z.square().sum(1))
        cosine = (x * inverse_x[:, None]) @ (z * inverse_z[:, None]).T  # (n, m), 0 at the origin
        values = self._angular(cosine.clamp_(-1.0, 1.0))
        if self.order:
            values *= x.norm(dim=1)[:, None] ** self.order
            values *= z.norm(dim=1) ** self.order
        return values

    def _angular(self, cosine: Tensor) -> Tensor:
        angle = cosine.arccos()
        if self.order == 0:
            return 1.0 - angle / pi
        sine = (1.0 - cosine.square()).clamp_min_(0.0).sqrt_()
        if self.order == 1:
            return (sine + (pi - angle) * cosine) / pi
        return (3.0 * sine * cosine + (pi - angle) * (1.0 + 2.0 * cosine.square())) / pi

    def _self_values(self, x: Tensor) -> Tensor:
        return self.diagonal_values(x.square().sum(1))

    def diagonal_values(self, squares: Tensor) -> Tensor:
        """k(x, x) from |x|^2."""
        if self.order == 0:
            return torch.where(squares > 0, 1.0, 0.5).to(squares)
        return squares**self.order * (3.0 if self.order == 2 else 1.0)
