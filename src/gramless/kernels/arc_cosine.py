"""k_n(x, z) = |x|^n |z|^n J_n(angle) / pi, the kernels of infinitely wide networks (Cho and Saul, 2009)."""

from dataclasses import dataclass

from gramless.kernels.base import Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.statistics import Statistic
from gramless.support.checks import whole

ANGULAR = (Operation.ARC_COSINE_0, Operation.ARC_COSINE_1, Operation.ARC_COSINE_2)


@registered(variants={f"arccos{order}": {"order": order} for order in range(3)})
@dataclass(frozen=True)
class ArcCosine(Kernel):
    """Order 0: step units, order 1: rectified linear units, order 2: rectified quadratic units.

    At the origin the angle is taken as a right one, the limit of a step unit that answers 1/2 to zero: this keeps
    order 0 p.s.d., with k(0, z) = 1/2 for every z.
    """

    order: int = 1

    name = "arccos"

    _parameter_constraints = Kernel._parameter_constraints | {"order": [whole(0, 2)]}

    def declare(self) -> Formula:
        return Formula(Statistic.INNER_PRODUCT, ANGULAR[self.order], cosine=True, size=self.order)
