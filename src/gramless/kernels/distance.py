"""k(x, z) = -|s(x) - s(z)|^2 / m: conditionally p.s.d., for the inside of an exponential."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, sqrt
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.kernels.base import Domain, Kernel, inverse_root
from gramless.kernels.gaussian import squared_distance
from gramless.kernels.hellinger import check_root, take_root

CONSTANT = 1e-13  # of a column's largest number: a smaller spread is rounding
FARTHEST = 1e150  # from the centre, in roots of m: its square is still a number

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


@dataclass(frozen=True, eq=False)
class Distance(Kernel):
    """The negative squared distance, over its mean between different samples: 0 to itself, -1 on average.

    s is a scaling: "columns" standardises every column, so that none rules by its units, and leaves out columns of zero
    spread; "rows" gives every sample the length 1, so that only angles count (a row of zeros stays one); "none" takes
    samples as they are. With `root` of 2 or 4, of the square or fourth roots of non-negative features: on rows that is
    the Hellinger distance of histograms.

    k(x, z) = -|a - b|^2 with a = factors (t(x) - centre) and b likewise, t the roots and the scaling of rows; m is in
    the factors. Samples that all coincide have m = 1.

    A Gaussian is the exponential of this kernel; here the width of each is a weight, which learning finds.
    """

    scaling: Scaling = "columns"
    root: int = 1
    centre: Any = None  # (d,) float64, from fit
    factors: Any = None  # (d,) float64, from fit

    conditional = True

    def __post_init__(self) -> None:
        if self.normalize:
            raise ValueError(
                "the distance kernel is 0 between a sample and itself, so it cannot be normalised to a unit diagonal: "
                "leave normalize=False, fit scales it by the mean distance."
            )
        if self.scaling not in ("columns", "rows", "none"):
            raise ValueError(f"scaling={self.scaling!r}: give 'columns', 'rows' or 'none'.")
        check_root(self.root, smallest=1)
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
        return NAMES[self.scaling, self.root]

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Domain.NONNEGATIVE if self.root > 1 else Domain.REAL

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        if self.centre is not None:
            return self
        self.check(x)
        compared = self._compared(take_root(x.double(), self.root))
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

    def largest(self, width: int, dtype: torch.dtype) -> float:
        return torch.finfo(dtype).max  # what lies too far out is found where distances are taken

    def features(self, x: Tensor) -> Tensor:
        """a, so that k(x, z) = -|a - b|^2: (n, d)."""
        return self.features_of_roots(take_root(x, self.root))

    def features_of_roots(self, roots: Tensor) -> Tensor:
        """The same from x^(1 / root)."""
        if self.centre is None:
            raise RuntimeError("the distance kernel is scaled by the data: call kernel.fit(x, generator) first.")
        if roots.shape[1] != len(self.centre):
            raise DataError(f"the distance kernel was fitted on {len(self.centre)} features, got {roots.shape[1]}.")
        return (self._compared(roots) - self.centre.to(roots)).mul_(self.factors.to(roots))

    def _compared(self, roots: Tensor) -> Tensor:
        if self.scaling != "rows":
            return roots
        largest = roots.detach().abs().amax(1, keepdim=True)
        roots = roots / torch.where(largest > 0, largest, 1.0)  # so that no square overflows
        return roots * inverse_root(roots.square().sum(1))[:, None]

    def _values(self, x: Tensor, z: Tensor) -> Tensor:
        """In float64: differences of large numbers, where samples lie far out."""
        a, b = self.features(x.double()), self.features(z.double())
        for scaled in (a, b):
            if not scaled.abs().max() <= FARTHEST:
                raise DataError(
                    f"samples lie {scaled.abs().max().item():.3g} times the mean distance from the fitted ones, whose "
                    "squares are no numbers any more: look for a column with wrong units, or fit on such samples too."
                )
        return squared_distance(a, b, 0.0).neg_().clamp_min_(torch.finfo(x.dtype).min).to(x.dtype)

    def _self_values(self, x: Tensor) -> Tensor:
        return x.new_zeros(len(x))


def _column_numbers(given: Any) -> Tensor:
    """A copy: a kernel is a value, and what the caller does to the array later is not its own."""
    numbers = given if isinstance(given, Tensor) else torch.from_numpy(np.asarray(given, dtype=float))
    numbers = numbers.detach().to(device="cpu", dtype=torch.float64, copy=True)
    if not numbers.isfinite().all():
        raise DataError("the centre and the factors of a distance kernel must be finite.")
    return numbers
