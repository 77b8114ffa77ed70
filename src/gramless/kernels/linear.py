"""k(x, z) = <x, z>."""

from dataclasses import dataclass

from gramless.kernels.base import Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.statistics import Statistic


@registered("linear")
@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product."""

    name = "linear"

    def declare(self) -> Formula:
        return Formula(Statistic.INNER_PRODUCT)
