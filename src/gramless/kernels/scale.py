"""The width of a distance kernel: a number, or read off the data."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Literal

import torch
from torch import Tensor

from gramless.support.checks import Constraints, Interval, StrOptions, whole

Scale = float | Literal["mean", "neighbours"]

ENOUGH = {"mean": (250, 1_000), "neighbours": (1_000, 5_000)}
"""Samples that are asked for their distances, and samples that those are to. A mean settles soon, to about 1 %; who the
nearest are depends on how many there are."""

SMALLEST, LARGEST = 1e-150, 1e150  # whose squares are numbers
SCALE_CONSTRAINTS: Constraints = {
    "scale": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"mean", "neighbours"})],
    "n_neighbours": [whole(1)],
}


def settle_scale(
    scale: Scale,
    n_neighbours: int,
    distance: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    generator: torch.Generator,
) -> float:
    """Mean distance to the k nearest other samples ("neighbours"), or to all other samples ("mean").

    Estimated from ENOUGH samples, drawn with the generator. Samples that all coincide have no width; any is right for
    them, and 1 is returned.
    """
    if not isinstance(scale, str):
        return scale
    order = torch.randperm(len(x), generator=generator)
    max_queries, max_references = ENOUGH[scale]
    references = x[order[:max_references].to(x.device)]
    n_queries = min(len(x), max_queries)
    distances = distance(references[:n_queries], references)  # (q, r); query i is reference i
    distances.fill_diagonal_(torch.inf)
    if len(references) < 2:
        return 1.0
    if scale == "neighbours":
        k = min(n_neighbours, len(references) - 1)
        settled = distances.topk(k, dim=1, largest=False).values.double().mean()
    else:
        settled = distances[distances.isfinite()].double().mean()
    return settled.item() if settled >= SMALLEST else 1.0


def decay(distance: Callable[[Tensor, Tensor], Tensor], x: Tensor, z: Tensor, scale: float) -> Tensor:
    """exp(-distance / scale): (n, m); in float64 where float32 does not hold the scale or its inverse."""
    if x.dtype == torch.float32 and not fits_float32(scale):
        return decay(distance, x.double(), z.double(), scale).float()
    return distance(x, z).mul_(-1.0 / scale).exp_()


def fits_float32(scale: float) -> bool:
    """Whether float32 holds a scale, its square and their inverses."""
    return 1e-18 < scale < 1e18


def refuse_unsettled(scale: Scale) -> float:
    """The number that a fitted kernel holds."""
    if isinstance(scale, str):
        raise RuntimeError(f"the scale {scale!r} is read off the data: call kernel.fit(x, generator) first.")
    return scale
