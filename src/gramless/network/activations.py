"""Activations g of kernel values.

By Schur's theorem a function keeps every p.s.d. kernel p.s.d. exactly when its power series has non-negative
coefficients. tanh has not: for v = (1, 1/2), tanh(v v') has the eigenvalue -0.026, whatever the paper says of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from gramless.support.checks import Constraints, check_parameters, function_of


@dataclass(frozen=True)
class Activation(ABC):
    """An elementwise function of kernel values: an immutable value."""

    name: ClassVar[str]

    @abstractmethod
    def apply_(self, values: Tensor) -> Tensor:
        """g(values); may overwrite its argument."""

    def __call__(self, values: Tensor) -> Tensor:
        return self.apply_(values.clone())


@dataclass(frozen=True)
class Tanh(Activation):
    name = "tanh"

    def apply_(self, values: Tensor) -> Tensor:
        return values.tanh_()


@dataclass(frozen=True)
class Sinh(Activation):
    name = "sinh"

    def apply_(self, values: Tensor) -> Tensor:
        return values.sinh_()


@dataclass(frozen=True)
class Exp(Activation):
    name = "exp"

    def apply_(self, values: Tensor) -> Tensor:
        return values.exp_()


@dataclass(frozen=True)
class Identity(Activation):
    name = "identity"

    def apply_(self, values: Tensor) -> Tensor:
        return values


@dataclass(frozen=True)
class Power(Activation):
    """c_0 + c_1 t + c_2 t^2 + ... with non-negative coefficients."""

    coefficients: tuple[float, ...]

    name = "power"

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(float(c) for c in self.coefficients))
        if not self.coefficients or not all(0 <= c < float("inf") for c in self.coefficients):
            raise ValueError(
                f"a polynomial activation needs non-negative coefficients to keep kernels p.s.d., "
                f"got {self.coefficients}. For any other function give a callable."
            )

    def apply_(self, values: Tensor) -> Tensor:
        result = torch.full_like(values, self.coefficients[-1])
        for coefficient in self.coefficients[-2::-1]:
            result.mul_(values).add_(coefficient)
        return result


@dataclass(frozen=True, eq=False)
class CustomActivation(Activation):
    """A user's own function of a tensor."""

    function: Callable[[Tensor], Tensor]

    name = "custom"
    _parameter_constraints: ClassVar[Constraints] = {"function": [function_of(1, "a function of one tensor")]}

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply_(self, values: Tensor) -> Tensor:
        result = self.function(values)
        if not isinstance(result, Tensor) or result.shape != values.shape:
            raise TypeError("an activation must return a tensor of the shape that it was given.")
        return result


NAMED: dict[str, Activation] = {a.name: a for a in (Tanh(), Sinh(), Exp(), Identity())}
"""Activations that can be asked for by name."""


def make_activation(spec: Any) -> Activation:
    """An activation from its name, from polynomial coefficients, or from a function of a tensor."""
    if isinstance(spec, Activation):
        return spec
    if isinstance(spec, str):
        if spec not in NAMED:
            raise ValueError(
                f"there is no activation named {spec!r}. Named activations: {', '.join(NAMED)}; or give the "
                "coefficients of a polynomial as a tuple, or a function of a tensor."
            )
        return NAMED[spec]
    if isinstance(spec, (tuple, list)):
        return Power(tuple(spec))
    if callable(spec):
        return CustomActivation(spec)
    raise TypeError(f"an activation is a name, coefficients or a function, not {type(spec).__name__}.")
