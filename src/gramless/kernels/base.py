"""What every elementary kernel is: parameters plus one formula, its diagonal and its domain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from math import sqrt
from typing import ClassVar, Self

import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.support.checks import Constraints, check_parameters


class Domain(Enum):
    """The values on which a kernel is defined."""

    REAL = "real numbers"
    NONNEGATIVE = "non-negative numbers"
    SAMPLE_NUMBERS = "sample numbers"

    def check(self, smallest: float, kernel_name: str) -> None:
        if self is Domain.NONNEGATIVE and smallest < 0:
            raise DataError(
                f"Negative values in data: the {kernel_name} kernel is defined for non-negative values, got "
                f"{smallest:.6g}. Use it on histograms, counts or magnitudes; for signed features choose "
                "linear, poly2, gaussian, laplacian or arccos1."
            )


@dataclass(frozen=True, eq=False)
class Kernel(ABC):
    """An elementary kernel k(x, z) on the rows of one view: an immutable value.

    Equal by their parameters, or, where these are functions or arrays, only to themselves (`eq=False`).
    A subclass holds its parameters and writes the formula of `_values` and `_self_values` on tensors.
    With `normalize=True` the kernel is k(x, z) / sqrt(k(x, x) k(z, z)), and 0 where a sample has k(x, x) = 0.
    """

    normalize: bool = field(default=False, kw_only=True)

    name: ClassVar[str]
    domain: ClassVar[Domain] = Domain.REAL
    conditional: ClassVar[bool] = False
    """Whether it is only conditionally p.s.d.: sum_ij c_i c_j k(x_i, x_j) >= 0 where the c_i sum to 0. It then has no
    map and is never normalised, but by Schoenberg's theorem the exponential of it, and of a non-negative combination
    with kernels of either kind, is p.s.d."""
    _parameter_constraints: ClassVar[Constraints] = {"normalize": ["boolean"]}

    def __post_init__(self) -> None:
        check_parameters(self)

    @abstractmethod
    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        """k(x_i, z_j) for x (n, d) and z (m, d): (n, m)."""

    @abstractmethod
    def _self_values(self, x: Tensor) -> Tensor:
        """k(x_i, x_i): (n,)."""

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        """The same kernel with every parameter that depends on data settled."""
        return self

    def largest(self, width: int, dtype: torch.dtype) -> float:
        """Features of so many columns up to this absolute value neither overflow in the formula, nor before it ends."""
        return sqrt(torch.finfo(dtype).max / (4 * width))  # of inner products and squared distances

    def check(self, x: Tensor) -> None:
        """Refuse samples that the kernel is not defined for, or whose values would not be numbers."""
        if x.numel():
            low, high = torch.stack(x.aminmax()).tolist()
            self.check_range(low, high, x.shape[1], x.dtype)

    def check_range(self, low: float, high: float, width: int, dtype: torch.dtype) -> None:
        """The same for samples of which the smallest and the largest value are known."""
        self.domain.check(low, self.name)
        largest, allowed = max(-low, high), self.largest(width, dtype)
        if not largest <= allowed:
            raise DataError(
                f"values up to {largest:.6g} are too large: the {self.name} kernel of {width} features overflows in "
                f"{str(dtype).removeprefix('torch.')} beyond {allowed:.3g}. Scale the features down, for instance to "
                "unit variance."
            )

    def pairwise(self, x: Tensor, z: Tensor) -> Tensor:
        self.check(x)
        self.check(z)
        values = self._values(x, z)  # (n, m)
        if self.normalize:
            values = values * inverse_root(self._self_values(x))[:, None]
            values *= inverse_root(self._self_values(z))
        return values

    def diagonal(self, x: Tensor) -> Tensor:
        self.check(x)
        values = self._self_values(x)  # (n,)
        return values * inverse_root(values).square() if self.normalize else values


def inverse_root(values: Tensor) -> Tensor:
    """values^(-1/2), and 0 where a value is 0 (a sample without any content is similar to nothing)."""
    return torch.where(values > 0, values, torch.inf).rsqrt()
