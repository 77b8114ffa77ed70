"""k(x, z) = (<x, z> + offset)^degree."""

from dataclasses import dataclass
from typing import Any

from gramless.kernels.base import Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.statistics import Statistic
from gramless.support.checks import NOT_NEGATIVE, whole

HIGHEST = 100  # degree: of any two samples such a power is 0 or infinite, unless they are alike


@registered(variants={"poly2": {"degree": 2}, "poly3": {"degree": 3}})
@dataclass(frozen=True)
class Polynomial(Kernel):
    """Powers of the inner product; homogeneous when the offset is 0, as in the paper."""

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
