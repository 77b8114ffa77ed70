"""Weights before anything is learned: uniform, random, or set by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any

import torch
from torch import Tensor

from gramless.errors import DataError


def spread_gains(gain: float | tuple[float, float], n_units: int) -> Tensor:
    """The gain of every unit, (n_units, 1): one for all, or spread evenly on a logarithmic scale from low to high."""
    low, high = gain if isinstance(gain, (tuple, list)) else (gain, gain)
    if not 0 < low <= high:
        raise ValueError(f"a gain must be positive, and a pair of them ascending, got {gain}.")
    return torch.logspace(log10(low), log10(high), n_units, dtype=torch.float64)[:, None]


def initial_weights(
    spec: Any, widths: Sequence[int], gains: Sequence[Tensor], generator: torch.Generator
) -> list[Tensor]:
    """One (n_units, n_inputs) matrix per layer of a network with `widths` = (n_kernels, hidden ..., 1).

    "uniform": every input counts the same. "random": every row is drawn uniformly from the simplex, so that hidden
    units differ. Rows sum to the unit's gain in both. Anything else is a list of matrices, taken as they are.
    """
    shapes = list(zip(widths[1:], widths[:-1], strict=True))
    if isinstance(spec, str):
        if spec == "uniform":
            rows = [torch.ones(shape, dtype=torch.float64) for shape in shapes]
        elif spec == "random":
            rows = [torch.empty(shape, dtype=torch.float64).exponential_(generator=generator) for shape in shapes]
        else:
            raise ValueError(f"weights={spec!r}: give 'random', 'uniform', or one matrix per layer.")
        return [gain * w / w.sum(1, keepdim=True) for gain, w in zip(gains, rows, strict=True)]
    try:
        given = [torch.as_tensor(w, dtype=torch.float64) for w in spec]
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"weights= holds something that is no matrix of numbers: {error}.") from error
    if [tuple(w.shape) for w in given] != shapes:
        raise DataError(
            f"this network needs weight matrices of shapes {shapes} (units x inputs, layer by layer), "
            f"got {[tuple(w.shape) for w in given]}."
        )
    return given
