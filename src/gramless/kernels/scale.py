"""The width of a distance kernel: a number, or read off the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Scale = float | Literal["mean", "neighbours"]

ENOUGH = {"mean": (250, 1_000), "neighbours": (1_000, 5_000)}
"""Samples that are asked for their distances, and samples that those are to. A mean settles soon, to about 1 %; who the
nearest are depends on how many there are."""


def check_scale(scale: Scale) -> None:
    if isinstance(scale, str):
        if scale not in ("mean", "neighbours"):
            raise ValueError(f"scale={scale!r}: give a positive number, 'mean' or 'neighbours'.")
    elif not scale > 0:
        raise ValueError(f"scale must be positive, got {scale}.")


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
    if n_neighbours < 1:
        raise ValueError(f"n_neighbours must be at least 1, got {n_neighbours}.")
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
    return settled.item() if settled > 0 else 1.0


def refuse_unsettled(scale: Scale) -> float:
    """The number that a fitted kernel holds."""
    if isinstance(scale, str):
        raise RuntimeError(f"the scale {scale!r} is read off the data: call kernel.fit(x, generator) first.")
    return scale
