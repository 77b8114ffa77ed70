"""What two samples of a view are compared by: a few numbers per pair, from which all kernels of the view follow."""

from __future__ import annotations

from enum import Enum


class Statistic(Enum):
    """One number per pair of rows (x, z)."""

    INNER_PRODUCT = "inner products"  # <x, z>
    CENTRED_PRODUCT = "centred inner products"  # <x - c, z - c>, c the mean of the columns
    SCALED_PRODUCT = "scaled, centred inner products"  # <a, b>, a = f (x - c) with a kernel's own f and c
    ROOT_PRODUCT = "inner products of roots"  # sum_d (x_d z_d)^(1 / root), of a kernel with its own root
    MINIMUM = "sums of minima"  # sum_d min(x_d, z_d)
    CITY_BLOCK = "city-block distances"  # sum_d |x_d - z_d|
    CHI_SQUARE = "chi-square distances"  # sum_d (x_d - z_d)^2 / (x_d + z_d)
    GIVEN = "values of a kernel without a fused form"  # the kernel itself, by its own `pairwise`

    @property
    def operations_per_feature(self) -> int:
        return {Statistic.CITY_BLOCK: 3, Statistic.CHI_SQUARE: 5}.get(self, 2)
