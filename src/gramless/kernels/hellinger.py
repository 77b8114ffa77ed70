"""k(x, z) = sum_d (x_d z_d)^(1 / root)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.kernels.base import Domain, Kernel


@dataclass(frozen=True)
class Hellinger(Kernel):
    """The Bhattacharyya coefficient of histograms: the inner product of their square roots.

    With `root=4` of their fourth roots: how often something occurs matters less beside whether it does.
    """

    root: int = 2

    domain = Domain.NONNEGATIVE

    def __post_init__(self) -> None:
        check_root(self.root, smallest=2)

    @property
    def name(self) -> str:  # type: ignore[override]
        return "hellinger" if self.root == 2 else "hellinger4"

    def largest(self, width: int, dtype: torch.dtype) -> float:
        return torch.finfo(dtype).max / width

    def features(self, x: Tensor) -> Tensor:
        """x^(1 / root), so that k(x, z) = <features(x), features(z)>: (n, d)."""
        return take_root(x, self.root)

    def features_of_roots(self, roots: Tensor) -> Tensor:
        """The same from x^(1 / root)."""
        return roots

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        return self.features(x) @ self.features(z).T

    def _self_values(self, x: Tensor) -> Tensor:
        return x.sum(1) if self.root == 2 else self.features(x).square().sum(1)


def check_root(root: int, smallest: int) -> None:
    if root not in (1, 2, 4) or root < smallest:
        raise ValueError(
            f"root={root!r}: give {'1, 2 or 4' if smallest == 1 else '2 or 4'}, for which roots are exact."
        )


def take_root(x: Tensor, root: int) -> Tensor:
    """x^(1 / root) by square roots of square roots."""
    for _ in range(root.bit_length() - 1):
        x = x.sqrt()
    return x
