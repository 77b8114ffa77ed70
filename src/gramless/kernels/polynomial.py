"""k(x, z) = (<x, z> + offset)^degree."""

from dataclasses import dataclass

from torch import Tensor

from gramless.kernels.base import Kernel


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Powers of the inner product; homogeneous when the offset is 0, as in the paper."""

    degree: int = 2
    offset: float = 0.0

    name = "polynomial"

    def __post_init__(self) -> None:
        if self.degree < 1 or int(self.degree) != self.degree:
            raise ValueError(f"a polynomial kernel needs a whole degree of at least 1, got {self.degree}.")
        if self.offset < 0:
            raise ValueError(f"a polynomial kernel with the negative offset {self.offset} is not p.s.d.")

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        return (x @ z.T + self.offset) ** self.degree

    def _self_values(self, x: Tensor) -> Tensor:
        return (x.square().sum(1) + self.offset) ** self.degree
