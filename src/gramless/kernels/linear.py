"""k(x, z) = <x, z>."""

from dataclasses import dataclass

from torch import Tensor

from gramless.kernels.base import Kernel


@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product."""

    name = "linear"

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        return x @ z.T

    def _self_values(self, x: Tensor) -> Tensor:
        return x.square().sum(1)
