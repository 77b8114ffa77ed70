"""k(x, z) = (1 + |x - z|^2 / (2 alpha scale^2))^-alpha."""

from dataclasses import dataclass
from numbers import Real

from gramless.kernels.base import registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.scale import ScaledKernel
from gramless.kernels.statistics import Statistic
from gramless.support.checks import Interval


@registered("rational-quadratic")
@dataclass(frozen=True)
class RationalQuadratic(ScaledKernel):
    """A mixture of Gaussian kernels of all widths about the scale: the wider, the smaller alpha is."""

    alpha: float = 1.0

    name = "rational-quadratic"

    _parameter_constraints = ScaledKernel._parameter_constraints | {"alpha": [Interval(Real, 1e-6, 1e6, closed="both")]}

    def declare(self) -> Formula:
        slope = 0.5 / self.alpha / self.width**2
        return Formula(Statistic.SQUARED_DISTANCE, Operation.INVERSE_POWER, slope=slope, exponent=self.alpha)
