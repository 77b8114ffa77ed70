"""The decimal-to-unary map of histogram intersection (Eqs. 2 and 3, Proposition 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor

from gramless.kernels import Intersection, Kernel
from gramless.kernels.operations import inverse_root
from gramless.kernels.statistics import Statistic, pair_statistic
from gramless.maps.explicit.base import Bounds, ExplicitMap, MapRecipe
from gramless.support.checks import Constraints, StrOptions, whole


@dataclass(frozen=True)
class Unary(MapRecipe):
    """Q levels per feature between its smallest and largest value.

    "floor" is the paper's quantiser; "nearest" removes its bias of half a step per feature and is our default.
    """

    levels: int = 255
    rounding: Literal["nearest", "floor"] = "nearest"

    _parameter_constraints: ClassVar[Constraints] = {
        "levels": [whole(1)],
        "rounding": [StrOptions({"nearest", "floor"})],
    }

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> UnaryMap:
        if not isinstance(kernel, Intersection):
            raise TypeError(f"the unary map is that of the intersection kernel, not of {kernel.name}.")
        kernel.check(landmarks)
        low, high = bounds() if bounds else (landmarks.amin(0), landmarks.amax(0))
        return UnaryMap(kernel, low, high - low, self.levels, self.rounding)


@dataclass(frozen=True, eq=False)
class UnaryMap(ExplicitMap):
    """Feature d becomes Q zeros and ones, the first k(x_d) of them ones, times sqrt(step_d), and sqrt(low_d).

    Eq. 2 as printed would set k + 1 ones; the text under it and the proof set k, and so does this. Values outside the
    bounds are clipped to them.
    """

    kernel: Intersection
    low: Tensor  # (d,)
    width: Tensor  # (d,): high - low
    levels: int
    rounding: str

    @property
    def n_columns(self) -> int:
        return len(self.low) * (self.levels + 1)

    @property
    def step(self) -> Tensor:
        return self.width / self.levels

    def codes(self, x: Tensor) -> Tensor:
        """k(x_d) in 0 ... Q: (n, d)."""
        self.kernel.check(x)
        step, low = self.step.to(x), self.low.to(x)
        position = torch.where(step > 0, self.levels * ((x - low) / torch.where(step > 0, self.width.to(x), 1.0)), 0.0)
        return (position.round() if self.rounding == "nearest" else position.floor()).clamp_(0, self.levels)

    def transform(self, x: Tensor) -> Tensor:
        thresholds = torch.arange(1, self.levels + 1, dtype=x.dtype, device=x.device)
        ones = self.codes(x)[:, :, None] >= thresholds  # (n, d, Q)
        unary = ones * self.step.to(x).sqrt()[:, None]
        constant = self.low.to(x).sqrt().expand(len(x), -1)[:, :, None]  # (n, d, 1)
        return self._normalize(torch.cat([unary, constant], dim=2).flatten(1), x)

    def compress(self, x: Tensor) -> UnaryCodes:
        gains = inverse_root(self.kernel.plain_diagonal(x)) if self.kernel.normalize else x.new_ones(len(x))
        return UnaryCodes(self.codes(x), gains, self.step.to(x), self.low.to(x).sum())


@dataclass(frozen=True, eq=False)
class UnaryCodes:
    """Codes instead of unary vectors: inner products of the latter are minima of the former.

    sum_d step_d min(k_d, k'_d) + low_d costs d operations where the vectors cost Q d (design rule: never form them).
    """

    codes: Tensor  # (n, d)
    gains: Tensor  # (n,): 1, or the normalisation of each sample
    step: Tensor  # (d,)
    constant: Tensor  # sum of the lower bounds

    @property
    def parts(self) -> tuple[Tensor, ...]:
        return self.codes, self.gains, self.step, self.constant

    def apply(self, function: Callable[[Tensor], Tensor]) -> UnaryCodes:
        """The same codes after a change of type or device."""
        return UnaryCodes(*map(function, self.parts))

    def inner(self, other: UnaryCodes) -> Tensor:
        a, b = self.codes * self.step, other.codes * self.step
        minima = pair_statistic(Statistic.MINIMUM, a, b)  # (n, m)
        return (minima + self.constant) * self.gains[:, None] * other.gains
