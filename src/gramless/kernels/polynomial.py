"""k(x, z) = (<x, z> + offset)^degree."""

from dataclasses import dataclass

from torch import Tensor

from gramless.kernels.base import Kernel, inverse_root


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Powers of the inner product; homogeneous when the offset is 0, as in the paper."""

    degree: int = 2
    offset: float = 0.0

    name = "polynomial"

    def __post_init__(self) -> None:
        if self.degree < 1 or int(self.degree) != self.degree:
            raise ValueError(f"a polynomial kernel needs a whole degree of at least 1, got {self.degree}.")
        object.__setattr__(self, "degree", int(self.degree))
        if not 0 <= self.offset < float("inf"):
            raise ValueError(f"a polynomial kernel with the negative offset {self.offset} is not p.s.d.")

    def pairwise(self, x: Tensor, z: Tensor) -> Tensor:
        if not self.normalize:
            return super().pairwise(x, z)
        # Normalised before the power: large features would overflow in it, small ones vanish.
        cosine = (x @ z.T + self.offset) * inverse_root(x.square().sum(1) + self.offset)[:, None]
        return (cosine * inverse_root(z.square().sum(1) + self.offset)) ** self.degree

    def diagonal(self, x: Tensor) -> Tensor:
        if not self.normalize:
            return super().diagonal(x)
        base = x.square().sum(1) + self.offset
        return base * inverse_root(base).square()

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        return (x @ z.T + self.offset) ** self.degree

    def _self_values(self, x: Tensor) -> Tensor:
        return (x.square().sum(1) + self.offset) ** self.degree
