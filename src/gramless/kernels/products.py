"""Kernels of inner products and of sums of minima."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from gramless.kernels.base import Domain, Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.statistics import Statistic, roots
from gramless.support.checks import NOT_NEGATIVE, Options, whole


@registered("linear")
@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = <x, z>."""

    name = "linear"

    def declare(self) -> Formula:
        return Formula(Statistic.INNER_PRODUCT)


HIGHEST = 100  # degree: of any two samples such a power is 0 or infinite, unless they are alike


@registered(variants={"poly2": {"degree": 2}, "poly3": {"degree": 3}})
@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (<x, z> + offset)^degree; homogeneous when the offset is 0, as in the paper."""

    degree: int = 2
    offset: float = 0.0

    name = "polynomial"

    _parameter_constraints = Kernel._parameter_constraints | {"degree": [whole(1, HIGHEST)], "offset": [NOT_NEGATIVE]}

    def __post_init__(self) -> None:
        degree: Any = self.degree
        if isinstance(degree, float) and degree.is_integer():
            object.__setattr__(self, "degree", int(degree))
        super().__post_init__()
        object.__setattr__(self, "offset", float(self.offset))  # a whole number may be longer than tensors hold

    def declare(self) -> Formula:
        return Formula(Statistic.INNER_PRODUCT, offset=self.offset, exponent=self.degree)


@registered("hellinger", variants={"hellinger4": {"root": 4}})
@dataclass(frozen=True)
class Hellinger(Kernel):
    """k(x, z) = sum_d (x_d z_d)^(1 / root): the Bhattacharyya coefficient of histograms.

    With `root=4`, how often something occurs matters less beside whether it does.
    """

    root: int = 2

    domain = Domain.NONNEGATIVE
    _parameter_constraints = Kernel._parameter_constraints | {"root": [Options(Integral, {2, 4})]}

    @property
    def name(self) -> str:  # type: ignore[override]
        return "hellinger" if self.root == 2 else "hellinger4"

    def declare(self) -> Formula:
        return Formula(Statistic.INNER_PRODUCT, features=roots(self.root))


@registered("intersection")
@dataclass(frozen=True)
class Intersection(Kernel):
    """k(x, z) = sum_d min(x_d, z_d): histogram intersection, p.s.d. on non-negative data."""

    name = "intersection"
    domain = Domain.NONNEGATIVE

    def declare(self) -> Formula:
        return Formula(Statistic.MINIMUM)


ANGULAR = (Operation.ARC_COSINE_0, Operation.ARC_COSINE_1, Operation.ARC_COSINE_2)


@registered(variants={f"arccos{order}": {"order": order} for order in range(3)})
@dataclass(frozen=True)
class ArcCosine(Kernel):
    """k_n(x, z) = |x|^n |z|^n J_n(angle) / pi, the kernels of infinitely wide networks (Cho and Saul, 2009).

    Order 0: step units, order 1: rectified linear units, order 2: rectified quadratic units.

    At the origin the angle is taken as a right one, the limit of a step unit that answers 1/2 to zero: this keeps
    order 0 p.s.d., with k(0, z) = 1/2 for every z.
    """

    order: int = 1

    name = "arccos"

    _parameter_constraints = Kernel._parameter_constraints | {"order": [whole(0, 2)]}

    def declare(self) -> Formula:
        return Formula(Statistic.INNER_PRODUCT, ANGULAR[self.order], cosine=True, size=self.order)
