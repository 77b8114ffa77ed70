"""k(x, z) = exp(-|x - z|^2 / (2 scale^2))."""

from dataclasses import dataclass

from gramless.kernels.base import registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.scale import ScaledKernel
from gramless.kernels.statistics import Statistic


@registered("gaussian")
@dataclass(frozen=True)
class Gaussian(ScaledKernel):
    """The RBF kernel; its scale is a number, the mean distance, or the mean distance to the nearest neighbours."""

    name = "gaussian"

    def declare(self) -> Formula:
        return Formula(Statistic.SQUARED_DISTANCE, Operation.EXPONENTIAL, slope=-0.5 / self.width**2)
