"""What every explicit map of one elementary kernel is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from torch import Generator, Tensor

from gramless.kernels import Kernel
from gramless.kernels.operations import inverse_root
from gramless.support.checks import Constraints, check_parameters

Bounds = Callable[[], tuple[Tensor, Tensor]]
"""Finds the smallest and the largest value of every feature, over all training samples."""


class ExplicitMap(ABC):
    """phi with <phi(x), phi(z)> equal or close to kernel(x, z): an immutable value, made by a `MapRecipe`."""

    kernel: Kernel

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns `transform` returns."""

    @abstractmethod
    def transform(self, x: Tensor) -> Tensor:
        """phi(x): (n, n_columns)."""

    def compress(self, x: Tensor) -> Any:
        """Something smaller than phi(x) that `inner` takes as well; phi(x) itself where nothing smaller exists."""
        return self.transform(x)

    def _normalize(self, phi: Tensor, x: Tensor) -> Tensor:
        """From the map of the plain kernel to that of the kernel normalised to a unit diagonal."""
        return phi * inverse_root(self.kernel.plain_diagonal(x))[:, None] if self.kernel.normalize else phi


class MapRecipe(ABC):
    """How to make the explicit map of a kernel; holds the choices, such as a number of levels or of frequencies."""

    _parameter_constraints: ClassVar[Constraints] = {}

    def __post_init__(self) -> None:
        check_parameters(self)

    @abstractmethod
    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> ExplicitMap:
        """Make the map.

        `landmarks` (N, d) are the samples on which eigendecomposition maps are exact; `bounds` finds the
        smallest and largest value of each feature over all training samples (over the landmarks, if not given); a map
        that does not fit into the memory budget is refused.
        """


def refuse_conditional(kernels: Iterable[Kernel], what: str) -> None:
    """Maps are of p.s.d. kernels."""
    names = [kernel.name for kernel in kernels if kernel.conditional]
    if names:
        raise ValueError(
            f"{what} needs an explicit map of every elementary kernel, and the {names[0]} kernel, which is only "
            "conditionally p.s.d., has none: no vectors have such inner products. Map the whole network at once, "
            "as DeepMapNetwork does with another way of tuning than 'algorithm1', or leave that kernel out."
        )


def inner(a: Any, b: Any) -> Tensor:
    """<phi(x_i), phi(z_j)> from transformed or compressed samples: (n, m)."""
    return a @ b.T if isinstance(a, Tensor) else a.inner(b)
