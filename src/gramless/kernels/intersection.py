"""k(x, z) = sum_d min(x_d, z_d)."""

from dataclasses import dataclass

from gramless.kernels.base import Domain, Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.statistics import Statistic


@registered("intersection")
@dataclass(frozen=True)
class Intersection(Kernel):
    """Histogram intersection, p.s.d. on non-negative data."""

    name = "intersection"
    domain = Domain.NONNEGATIVE

    def declare(self) -> Formula:
        return Formula(Statistic.MINIMUM)
