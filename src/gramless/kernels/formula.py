"""What an elementary kernel is: a pointwise function of one statistic of the pair. Said once, evaluated everywhere."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import torch
from torch import Tensor

from gramless.kernels.operations import Operation, inverse_root, operate
from gramless.kernels.statistics import Features, Statistic, largest_feature, largest_term

ROUNDING = 5e-5  # of a value, at most, from terms of a squared distance that cancel
SMALLEST_SLOPE, LARGEST_SLOPE = 1e-36, 1e36  # that float32 holds with room to spare


@dataclass(frozen=True)
class Formula:
    """k(x, z) = f(v) (s_x s_z)^size with v = slope T(x, z) + offset, and s_x^2 = slope T(x, x) + offset.

    T is a statistic of the samples, or of features of theirs; f an operation, with an exponent. Where `cosine` is set,
    v is divided by s_x s_z, and 0 if one of them is. A `unit` formula is divided by the root of k(x, x) k(z, z).

    The reference, the fused evaluators on CPU and GPU, gradients and ONNX files all follow from these few values.
    """

    statistic: Statistic
    operation: Operation = Operation.POWER
    _: KW_ONLY
    slope: float = 1.0
    offset: float = 0.0
    exponent: float = 1.0
    size: int = 0
    cosine: bool = False
    features: Features | None = None
    unit: bool = False

    def __post_init__(self) -> None:
        if self.statistic.is_distance and (self.offset or self.size or self.cosine):
            raise ValueError(
                f"{self.statistic.value} of a sample with itself are 0: no offset, size or cosine is of them."
            )

    def normalised(self) -> Formula:
        """Over sqrt(k(x, x) k(z, z)); before a power, in which large values would overflow and small ones vanish."""
        if self.statistic.is_distance:
            return self  # what decays with a distance is 1 where that is 0
        return replace(self, cosine=True) if self.operation is Operation.POWER else replace(self, unit=True)

    @property
    def asks_for_own(self) -> bool:
        """Whether values depend on what the statistic is of a sample with itself."""
        return self.cosine or self.unit or self.size > 0

    @property
    def steepness(self) -> float:
        """At most, the change of f with v, where v is a distance."""
        return self.exponent if self.operation is Operation.INVERSE_POWER else 1.0

    @property
    def fits_float32(self) -> bool:
        return SMALLEST_SLOPE < abs(self.slope) < LARGEST_SLOPE

    def argument(self, statistic: Tensor) -> Tensor:
        """slope T + offset: v, or s^2 from the statistic of a sample with itself."""
        scaled = statistic if self.slope == 1 else self.slope * statistic
        return scaled if self.offset == 0 else scaled + self.offset

    def gain(self, own: Tensor) -> Tensor:
        """What v is multiplied with for a sample: 1 / s where `cosine`."""
        return inverse_root(own) if self.cosine else torch.ones_like(own)

    def factor(self, own: Tensor) -> Tensor:
        """What f(v) is multiplied with for a sample."""
        factor = own ** (self.size / 2) if self.size else torch.ones_like(own)
        if not self.unit:
            return factor
        return torch.where(factor > 0, inverse_root(self._operated(own)), 0.0)  # s is in both, and cancels

    def values(self, statistic: Tensor, own_x: Tensor | None, own_z: Tensor | None) -> Tensor:
        """k(x_i, z_j) from T (n, m), and s^2 of the samples, (n,) and (m,), where it asks for them."""
        v = self.argument(statistic)
        if own_x is None or own_z is None:
            return operate(self.operation, v, self.exponent)
        if self.cosine:
            v = v * self.gain(own_x)[:, None] * self.gain(own_z)
        values = operate(self.operation, v, self.exponent)
        if self.size or self.unit:
            values = values * self.factor(own_x)[:, None] * self.factor(own_z)
        return values

    def diagonal(self, own: Tensor) -> Tensor:
        """k(x_i, x_i) from s^2: (n,)."""
        return self._operated(own) * self.factor(own).square()

    def _operated(self, own: Tensor) -> Tensor:
        """f(v) of a sample with itself, at a cosine of 1, or 0 where it has no content."""
        v = (own.detach() > 0).to(own.dtype) if self.cosine else own
        return operate(self.operation, v, self.exponent)

    def largest(self, width: int, dtype: torch.dtype) -> float:
        """Features of so many columns up to this absolute value neither overflow in the formula, nor before it ends."""
        end = torch.finfo(dtype).max
        growth = 1.0 if self.unit else max(1.0, float(self.size))
        if self.operation is Operation.POWER and not self.cosine:
            growth = self.exponent
        most = max((end / 4) ** (1 / growth) - self.offset, 0.0)
        if self.features is None:
            return largest_feature(self.statistic, most, width)
        # Of square roots the square; fourth roots would allow more than the type holds.
        return min(largest_feature(self.statistic, most, width) ** min(self.features.root, 2), end)

    def is_coarse(self, x: Tensor, z: Tensor) -> bool:
        """Whether float32 does not hold the formula on these samples: float64 does."""
        if not self.fits_float32 or self.operation is Operation.NONPOSITIVE:
            return True  # a negative distance is cut off nowhere: the weight that it is multiplied with may be small
        if self.statistic is not Statistic.SQUARED_DISTANCE:
            return False
        if self.features is not None:
            x, z = self.features(x), self.features(z)
        rounding = torch.finfo(x.dtype).eps * largest_term(x, z)
        return not rounding * abs(self.slope) * self.steepness <= ROUNDING  # nor if it overflows
