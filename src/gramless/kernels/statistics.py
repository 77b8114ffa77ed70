"""What two samples are compared by: features of theirs, and one number per pair, from which kernels follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from math import sqrt

import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.kernels.operations import inverse_root

TILE_ELEMENTS = 1 << 17  # of an n x m x features tensor that is in memory at once: caches hold them
COINCIDING = 1e-13  # of the squared size of the data, in float64
FARTHEST = 1e150  # distance: its square is a number


class Statistic(Enum):
    """T(x, z) of two rows."""

    INNER_PRODUCT = "inner products"  # <x, z>
    SQUARED_DISTANCE = "squared distances"  # |x - z|^2
    MINIMUM = "sums of minima"  # sum_d min(x_d, z_d)
    CITY_BLOCK = "city-block distances"  # sum_d |x_d - z_d|
    CHI_SQUARE = "chi-square distances"  # sum_d (x_d - z_d)^2 / (x_d + z_d), with 0 / 0 = 0
    GIVEN = "values of a kernel without a formula"  # k(x, z) itself, by the kernel's own function

    @property
    def is_distance(self) -> bool:
        """Whether it is 0 between a sample and itself."""
        return self in (Statistic.SQUARED_DISTANCE, Statistic.CITY_BLOCK, Statistic.CHI_SQUARE)

    @property
    def operations_per_feature(self) -> int:
        return {Statistic.CITY_BLOCK: 3, Statistic.CHI_SQUARE: 5}.get(self, 2)


def _chi_square(x: Tensor, z: Tensor) -> Tensor:
    difference = x - z
    return difference * (difference / (x + z).clamp_min(torch.finfo(x.dtype).tiny))  # 0 / 0 = 0


SUMMANDS: dict[Statistic, Callable[[Tensor, Tensor], Tensor]] = {
    Statistic.MINIMUM: torch.minimum,
    Statistic.CITY_BLOCK: lambda x, z: (x - z).abs(),
    Statistic.CHI_SQUARE: _chi_square,
}
"""What is summed over features, where that is no product."""


def pair_statistic(statistic: Statistic, x: Tensor, z: Tensor) -> Tensor:
    """T(x_i, z_j): (n, m)."""
    if statistic is Statistic.INNER_PRODUCT:
        return x @ z.T
    if statistic is Statistic.SQUARED_DISTANCE:
        return squared_distance(x, z)
    if statistic is Statistic.CITY_BLOCK:
        return torch.cdist(x, z, p=1.0)
    if statistic is Statistic.MINIMUM:  # min(a, b) = (a + b - |a - b|) / 2
        return (x.sum(1)[:, None] + z.sum(1)).sub_(torch.cdist(x, z, p=1.0)).mul_(0.5)
    rows = max(1, TILE_ELEMENTS // max(1, z.numel()))
    return torch.cat([SUMMANDS[statistic](tile[:, None, :], z).sum(2) for tile in x.split(rows)])


def own_statistic(statistic: Statistic, x: Tensor) -> Tensor:
    """T(x_i, x_i): (n,)."""
    if statistic is Statistic.INNER_PRODUCT:
        return x.square().sum(1)
    return x.sum(1) if statistic is Statistic.MINIMUM else x.new_zeros(len(x))


def distance(statistic: Statistic, x: Tensor, z: Tensor) -> Tensor:
    """How far apart samples are, by a statistic that says so: (n, m).

    Exactly 0 where only rounding keeps two samples apart.
    """
    if statistic is not Statistic.SQUARED_DISTANCE:
        return pair_statistic(statistic, x, z)
    squared = squared_distance(x.double(), z.double()).to(x.dtype)
    size = (x - z.mean(0)).square().sum(1).max() + (z - z.mean(0)).square().sum(1).max()
    return torch.where(squared > COINCIDING * size, squared, 0.0).sqrt()


def squared_distance(x: Tensor, z: Tensor) -> Tensor:
    """|x_i - z_j|^2 by one matrix product: (n, m).

    Both sides are first moved so that z has mean zero: the three terms then cancel as little as they can.
    """
    centre = z.mean(0)
    a, b = x - centre, z - centre
    inner = torch.addmm(b.square().sum(1)[None, :], a, b.T, alpha=-2.0)
    return inner.add_(a.square().sum(1)[:, None]).clamp_min_(0.0)


def largest_term(x: Tensor, z: Tensor) -> Tensor:
    """Of those that cancel in `squared_distance`: it is off by so much times the precision of the type."""
    centre = z.mean(0)
    return (x - centre).square().sum(1).max() + (z - centre).square().sum(1).max()


def largest_feature(statistic: Statistic, most: float, width: int) -> float:
    """Features of so many columns up to this absolute value have statistics up to `most`, a quarter of the last number
    of their type."""
    if statistic is Statistic.GIVEN:
        return 4 * most
    if statistic is Statistic.MINIMUM:
        return most / width
    if statistic is Statistic.CITY_BLOCK:
        return min(most, FARTHEST / 4) / width
    if statistic is Statistic.SQUARED_DISTANCE:  # those that float32 does not hold are taken in float64
        most = torch.finfo(torch.float64).max / 16
    return sqrt(most / width)


@dataclass(frozen=True, eq=False)
class Features:
    """a = factors (t(x) - centre), t the roots of x, with unit length where asked."""

    root: int = 1
    unit_rows: bool = False
    centre: Tensor | None = None  # (d,) float64, as are the factors
    factors: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """(n, d) of samples (n, d)."""
        for _ in range(self.root.bit_length() - 1):  # square roots of square roots
            x = x.sqrt()
        return self.of_roots(x)

    def of_roots(self, roots: Tensor) -> Tensor:
        """The same from x^(1 / root)."""
        compared = unit_rows(roots) if self.unit_rows else roots
        if self.centre is None or self.factors is None:
            return compared
        if roots.shape[1] != len(self.centre):
            raise DataError(f"the distance kernel was fitted on {len(self.centre)} features, got {roots.shape[1]}.")
        return (compared - self.centre.to(roots)).mul_(self.factors.to(roots))

    def checked(self, x: Tensor) -> Tensor:
        """The features, refused where their squares are no numbers."""
        found = self(x)
        if self.factors is not None and not found.abs().max() <= FARTHEST:
            raise DataError(
                f"samples lie {found.abs().max().item():.3g} times the mean distance from the fitted ones, so far "
                "that squares overflow: look for a column with wrong units, or fit on such samples too."
            )
        return found


@cache
def roots(root: int) -> Features:
    """x^(1 / root), the same value for all kernels that compare by it."""
    return Features(root)


def unit_rows(x: Tensor) -> Tensor:
    """Rows of length 1; a row of zeros stays one."""
    largest = x.detach().abs().amax(1, keepdim=True)
    x = x / torch.where(largest > 0, largest, 1.0)  # so that no square overflows
    return x * inverse_root(x.square().sum(1))[:, None]
