"""k(x, z) = -|s(x) - s(z)|^2 / m: conditionally p.s.d., for the inside of an exponential."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import hypot, sqrt
from numbers import Integral
from typing import Any, Literal, Self, get_args

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.kernels.base import Domain, Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.statistics import Features, Statistic
from gramless.support.checks import Options, StrOptions

CONSTANT = 1e-13  # of a column's largest number: a smaller spread is rounding

Scaling = Literal["columns", "rows", "none"]

NAMES = {
    ("columns", 1): "distance",
    ("columns", 2): "root-distance",
    ("columns", 4): "root4-distance",
    ("rows", 1): "cosine-distance",
    ("rows", 2): "hellinger-distance",
    ("rows", 4): "hellinger4-distance",
    ("none", 1): "plain-distance",
    ("none", 2): "plain-root-distance",
    ("none", 4): "plain-root4-distance",
}
"""By scaling and root."""


@registered(
    "distance",
    variants={
        "cosine-distance": {"scaling": "rows"},
        "hellinger-distance": {"scaling": "rows", "root": 2},
        "hellinger4-distance": {"scaling": "rows", "root": 4},
    },
)
@dataclass(frozen=True, eq=False)
class Distance(Kernel):
    """The negative squared distance, over its mean between different samples: 0 to itself, -1 on average.

    s is a scaling: "columns" standardises every column, so that none rules by its units, and leaves out columns of zero
    spread; "rows" gives every sample the length 1, so that only angles count (a row of zeros stays one); "none" takes
    samples as they are. With `root` of 2 or 4, of the square or fourth roots of non-negative features: on rows that is
    the Hellinger distance of histograms.

    k(x, z) = -|a - b|^2 with a and b the `Features` of x and z; m is in the factors.
    Samples that all coincide have m = 1.

    A Gaussian is the exponential of this kernel; here the width of each is a weight, which learning finds.
    """

    scaling: Scaling = "columns"
    root: int = 1
    centre: Any = field(default=None, repr=False)  # (d,) float64, from fit
    factors: Any = field(default=None, repr=False)  # (d,) float64, from fit

    conditional = True
    _parameter_constraints = Kernel._parameter_constraints | {
        "scaling": [StrOptions(set(get_args(Scaling)))],
        "root": [Options(Integral, {1, 2, 4})],  # for which roots are exact
    }

    def __post_init__(self) -> None:
        if self.normalize:
            raise ValueError(
                "the distance kernel is 0 between a sample and itself, so it cannot be normalised to a unit diagonal: "
                "leave normalize=False, fit scales it by the mean distance."
            )
        super().__post_init__()
        if (self.centre is None) != (self.factors is None):
            raise ValueError("a distance kernel has both a centre and factors, or neither until it is fitted.")
        if self.centre is None:
            return
        for name in ("centre", "factors"):
            object.__setattr__(self, name, _column_numbers(getattr(self, name)))
        if self.centre.ndim != 1 or self.centre.shape != self.factors.shape or (self.factors < 0).any():
            raise ValueError(
                "a distance kernel needs one centre and one non-negative factor per column, got shapes "
                f"{tuple(self.centre.shape)} and {tuple(self.factors.shape)}."
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        name = NAMES[self.scaling, self.root]
        compared = [] if self.factors is None else self.factors.nonzero()[:, 0].tolist()
        return f"{name} of column {compared[0]}" if len(compared) == 1 < len(self.factors) else name

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Domain.NONNEGATIVE if self.root > 1 else Domain.REAL

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        if self.centre is not None:
            return self
        self.check(x)
        compared = Features(self.root, self.scaling == "rows")(x.double())
        size = compared.abs().amax(0).clamp_min(torch.finfo(torch.float64).tiny)
        unit = compared / size  # so that no square overflows
        centre = unit.mean(0)
        spread = (unit - centre).square().mean(0).sqrt()
        spread = torch.where(spread > CONSTANT, spread, 0.0) * size
        if self.scaling == "columns":
            factors = torch.where(spread > 0, spread, torch.inf).reciprocal()
            total = sqrt((spread > 0).sum().item())
        else:
            factors, total = torch.ones_like(spread), hypot(*spread.tolist())
        # The mean of |s(x) - s(z)|^2 over pairs of different samples is 2 n / (n - 1) times the sum of variances.
        root_of_mean = total * sqrt(2 * len(x) / max(1, len(x) - 1)) or 1.0
        return replace(self, centre=centre * size, factors=factors / root_of_mean)

    @property
    def n_columns(self) -> int | None:
        return None if self.centre is None else len(self.centre)

    def largest(self, width: int, dtype: torch.dtype) -> float:
        return torch.finfo(dtype).max  # what lies too far out is found where distances are taken

    def declare(self) -> Formula:
        if self.centre is None:
            raise RuntimeError("the distance kernel is scaled by the data: call kernel.fit(x, generator) first.")
        features = Features(self.root, self.scaling == "rows", self.centre, self.factors)
        return Formula(Statistic.SQUARED_DISTANCE, Operation.NONPOSITIVE, slope=-1.0, features=features)


def column_distances(x: Tensor) -> tuple[Distance, ...]:
    """Of every column of x (n, d) alone, but for constant ones; fitted. Under exp each has a width of its own."""
    whole = Distance().fit(x, torch.Generator())
    columns = whole.factors.nonzero()[:, 0]
    alone = torch.diag(whole.factors * sqrt(len(columns)))[columns]
    return tuple(replace(whole, factors=factors) for factors in alone)


def _column_numbers(given: Any) -> Tensor:
    """A copy: a kernel is a value, and what the caller does to the array later is not its own."""
    numbers = given if isinstance(given, Tensor) else torch.from_numpy(np.asarray(given, dtype=float))
    numbers = numbers.detach().to(device="cpu", dtype=torch.float64, copy=True)
    if not numbers.isfinite().all():
        raise DataError("the centre and the factors of a distance kernel must be finite.")
    return numbers
