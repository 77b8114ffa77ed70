"""k(x, z) = exp(-D(x, z) / scale) with D(x, z) = sum_d (x_d - z_d)^2 / (x_d + z_d)."""

from dataclasses import dataclass

from gramless.kernels.base import Domain, registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.scale import ScaledKernel
from gramless.kernels.statistics import Statistic


@registered("chi2")
@dataclass(frozen=True)
class ChiSquare(ScaledKernel):
    """The exponential chi-square kernel of histograms; the scale as in the Gaussian kernel."""

    name = "chi2"
    domain = Domain.NONNEGATIVE

    def declare(self) -> Formula:
        return Formula(Statistic.CHI_SQUARE, Operation.EXPONENTIAL, slope=-1 / self.width)
