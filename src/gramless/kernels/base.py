"""What every elementary kernel is: parameters, a formula, a domain; and the table of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.kernels.formula import Formula
from gramless.kernels.statistics import own_statistic, pair_statistic
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
    A subclass holds its parameters and says its formula in `declare`; values in any type, fused evaluators, gradients
    and ONNX nodes follow from it. With `normalize=True` the kernel is k(x, z) / sqrt(k(x, x) k(z, z)), and 0 where a
    sample has k(x, x) = 0.
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
    def declare(self) -> Formula:
        """The kernel before it is normalised."""

    @cached_property
    def formula(self) -> Formula:
        return self.declare().normalised() if self.normalize else self.declare()

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        """The same kernel with every parameter that depends on data settled."""
        return self

    def largest(self, width: int, dtype: torch.dtype) -> float:
        """Features of so many columns up to this absolute value neither overflow in the formula, nor before it ends."""
        return self.formula.largest(width, dtype)

    @property
    def n_columns(self) -> int | None:
        """Of its view, where only so many will do."""
        return None

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
        """k(x_i, z_j) of x (n, d) and z (m, d), in their type: (n, m)."""
        self.check(x)
        self.check(z)
        if x.dtype == torch.float32 and self.formula.is_coarse(x, z):
            limits = torch.finfo(x.dtype)
            return self._values(x.double(), z.double()).clamp_(limits.min, limits.max).to(x.dtype)
        return self._values(x, z)

    def diagonal(self, x: Tensor) -> Tensor:
        """k(x_i, x_i): (n,)."""
        self.check(x)
        return self.formula.diagonal(self._own(x))

    def plain_diagonal(self, x: Tensor) -> Tensor:
        """k(x_i, x_i) before the kernel is normalised, of samples that are known to be fine: (n,)."""
        return self.declare().diagonal(self._own(x))

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        formula = self.formula
        own = (self._own(x), self._own(z)) if formula.asks_for_own else (None, None)
        return formula.values(self._statistics(x, z), *own)

    def _own(self, x: Tensor) -> Tensor:
        return self.formula.argument(self._own_statistics(x))

    def _statistics(self, x: Tensor, z: Tensor) -> Tensor:
        """T of the formula: (n, m)."""
        features = self.formula.features
        if features is not None:
            x, z = features.checked(x), features.checked(z)
        return pair_statistic(self.formula.statistic, x, z)

    def _own_statistics(self, x: Tensor) -> Tensor:
        """T of each sample with itself: (n,)."""
        features = self.formula.features
        return own_statistic(self.formula.statistic, x if features is None else features(x))


KERNELS: list[type[Kernel]] = []
"""Every class of kernels, which files may name."""
NAMED: dict[str, Kernel] = {}
"""Kernels that can be asked for by name."""

AnyKernel = TypeVar("AnyKernel", bound=Kernel)


def registered(
    *names: str, variants: Mapping[str, Mapping[str, Any]] | None = None
) -> Callable[[type[AnyKernel]], type[AnyKernel]]:
    """Enter a class into the table of kernels: names of it as it is, and of variants with other parameters."""

    def enter(cls: type[AnyKernel]) -> type[AnyKernel]:
        KERNELS.append(cls)
        NAMED.update({name: cls() for name in names})
        NAMED.update({name: cls(**parameters) for name, parameters in (variants or {}).items()})
        return cls

    return enter


def kernel_name(kernel: Kernel) -> str:
    """The name by which people ask for a kernel: its order or degree counts, its scale does not."""
    parameters = {name: getattr(kernel, name) for name in ("degree", "order") if hasattr(kernel, name)}
    if not parameters:
        return kernel.name
    for name, named in NAMED.items():
        if type(named) is type(kernel) and all(getattr(named, key) == value for key, value in parameters.items()):
            return name
    return " ".join([kernel.name, *map(str, parameters.values())])
