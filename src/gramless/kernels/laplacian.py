"""k(x, z) = exp(-|x - z|_1 / scale)."""

from dataclasses import dataclass

from gramless.kernels.base import registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.scale import ScaledKernel
from gramless.kernels.statistics import Statistic


@registered("laplacian")
@dataclass(frozen=True)
class Laplacian(ScaledKernel):
    """The exponential of the city-block distance; the scale as in the Gaussian kernel."""

    name = "laplacian"

    def declare(self) -> Formula:
        return Formula(Statistic.CITY_BLOCK, Operation.EXPONENTIAL, slope=-1 / self.width)
