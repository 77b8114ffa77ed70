"""Kernels that decay with a distance, and the width of that decay: a number, or read off the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal, Self

import torch
from torch import Tensor

from gramless.kernels.base import Domain, Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.operations import Operation
from gramless.kernels.statistics import FARTHEST, Statistic, distance
from gramless.support.checks import Interval, StrOptions, whole

Scale = float | Literal["mean", "neighbours"]

ENOUGH = {"mean": (250, 1_000), "neighbours": (1_000, 5_000)}
"""Samples that are asked for their distances, and samples that those are to. A mean settles soon, to about 1 %; who the
nearest are depends on how many there are."""

SMALLEST, LARGEST = 1 / FARTHEST, FARTHEST


@dataclass(frozen=True)
class ScaledKernel(Kernel):
    """A function of a distance over its scale: a number, the mean distance, or that to the nearest neighbours."""

    scale: Scale = "mean"
    n_neighbours: int = 10

    _parameter_constraints = Kernel._parameter_constraints | {
        "scale": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"mean", "neighbours"})],
        "n_neighbours": [whole(1)],
    }

    @property
    def width(self) -> float:
        """The scale of a fitted kernel."""
        if isinstance(self.scale, str):
            raise RuntimeError(f"the scale {self.scale!r} is read off the data: call kernel.fit(x, generator) first.")
        return self.scale

    def largest(self, width: int, dtype: torch.dtype) -> float:
        return self._with_any_scale.formula.largest(width, dtype)

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        self.check(x)
        if not isinstance(self.scale, str):
            return self
        statistic = self._with_any_scale.formula.statistic
        return replace(self, scale=settle_scale(self.scale, self.n_neighbours, statistic, x, generator))

    @property
    def _with_any_scale(self) -> Self:
        """For what does not depend on it."""
        return replace(self, scale=1.0) if isinstance(self.scale, str) else self


def settle_scale(
    rule: Literal["mean", "neighbours"], n_neighbours: int, statistic: Statistic, x: Tensor, generator: torch.Generator
) -> float:
    """Mean distance to the k nearest other samples ("neighbours"), or to all other samples ("mean").

    Estimated from ENOUGH samples, drawn with the generator. Samples that all coincide have no width; any is right for
    them, and 1 is returned.
    """
    order = torch.randperm(len(x), generator=generator)
    max_queries, max_references = ENOUGH[rule]
    references = x[order[:max_references].to(x.device)]
    n_queries = min(len(x), max_queries)
    distances = distance(statistic, references[:n_queries], references)  # (q, r); query i is reference i
    distances.fill_diagonal_(torch.inf)
    if len(references) < 2:
        return 1.0
    if rule == "neighbours":
        k = min(n_neighbours, len(references) - 1)
        settled = distances.topk(k, dim=1, largest=False).values.double().mean()
    else:
        settled = distances[distances.isfinite()].double().mean()
    return settled.item() if settled >= SMALLEST else 1.0


@registered("gaussian")
@dataclass(frozen=True)
class Gaussian(ScaledKernel):
    """k(x, z) = exp(-|x - z|^2 / (2 scale^2)): the RBF kernel."""

    name = "gaussian"

    def declare(self) -> Formula:
        return Formula(Statistic.SQUARED_DISTANCE, Operation.EXPONENTIAL, slope=-0.5 / self.width**2)


@registered("laplacian")
@dataclass(frozen=True)
class Laplacian(ScaledKernel):
    """k(x, z) = exp(-|x - z|_1 / scale)."""

    name = "laplacian"

    def declare(self) -> Formula:
        return Formula(Statistic.CITY_BLOCK, Operation.EXPONENTIAL, slope=-1 / self.width)


@registered("chi2")
@dataclass(frozen=True)
class ChiSquare(ScaledKernel):
    """k(x, z) = exp(-D(x, z) / scale) of histograms, with D(x, z) = sum_d (x_d - z_d)^2 / (x_d + z_d)."""

    name = "chi2"
    domain = Domain.NONNEGATIVE

    def declare(self) -> Formula:
        return Formula(Statistic.CHI_SQUARE, Operation.EXPONENTIAL, slope=-1 / self.width)


@registered("rational-quadratic")
@dataclass(frozen=True)
class RationalQuadratic(ScaledKernel):
    """k(x, z) = (1 + |x - z|^2 / (2 alpha scale^2))^-alpha.

    A mixture of Gaussian kernels of all widths about the scale: the wider, the smaller alpha is.
    """

    alpha: float = 1.0

    name = "rational-quadratic"

    _parameter_constraints = ScaledKernel._parameter_constraints | {"alpha": [Interval(Real, 1e-6, 1e6, closed="both")]}

    def declare(self) -> Formula:
        slope = 0.5 / self.alpha / self.width**2
        return Formula(Statistic.SQUARED_DISTANCE, Operation.INVERSE_POWER, slope=slope, exponent=self.alpha)
