"""Kernels that decay with a distance, and the width of that decay: a number, or read off the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal, Self

import torch
from torch import Tensor

from gramless.kernels.base import Kernel
from gramless.kernels.statistics import FARTHEST_APART, Statistic, distance
from gramless.support.checks import Interval, StrOptions, whole

Scale = float | Literal["mean", "neighbours"]

ENOUGH = {"mean": (250, 1_000), "neighbours": (1_000, 5_000)}
"""Samples that are asked for their distances, and samples that those are to. A mean settles soon, to about 1 %; who the
nearest are depends on how many there are."""

SMALLEST, LARGEST = 1 / FARTHEST_APART, FARTHEST_APART


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
