"""A deep kernel network as a description: elementary kernels on views, layers, and weights before any are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.kernels import Kernel
from gramless.network.activations import Activation


@dataclass(frozen=True)
class ViewKernel:
    """An elementary kernel on one view."""

    view: str
    kernel: Kernel


@dataclass(frozen=True, eq=False)
class Layer:
    """Eq. 1: kappa_p = g(sum_q w_pq kappa_q): non-negative weights (n_units, n_inputs) and an activation g."""

    weights: Any
    activation: Activation

    def __post_init__(self) -> None:
        given = self.weights if isinstance(self.weights, Tensor) else torch.from_numpy(np.asarray(self.weights, float))
        weights = given.detach().to(device="cpu", dtype=torch.float64, copy=True)
        if weights.ndim != 2 or 0 in weights.shape:
            raise DataError(f"a layer's weights have shape (n_units, n_inputs), got {tuple(weights.shape)}.")
        if not weights.isfinite().all() or weights.min() < 0:
            raise DataError(
                f"weights of kernels must be finite and non-negative to keep them p.s.d.; the smallest is "
                f"{weights.min().item():g}."
            )
        object.__setattr__(self, "weights", weights)

    @property
    def n_units(self) -> int:
        return self.weights.shape[0]

    @property
    def n_inputs(self) -> int:
        return self.weights.shape[1]


@dataclass(frozen=True, eq=False)
class Network:
    """kappa(x, z) = scale g_L(W_L ... g_2(W_2 k(x, z))) over elementary kernels k."""

    inputs: tuple[ViewKernel, ...]
    layers: tuple[Layer, ...]
    scale: float = 1.0

    @property
    def views(self) -> list[str]:
        """The views that the elementary kernels are on, each once."""
        return list(dict.fromkeys(entry.view for entry in self.inputs))


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
        raise DataError(f"weights= holds something that is not a matrix of numbers: {error}.") from error
    if [tuple(w.shape) for w in given] != shapes:
        raise DataError(
            f"this network needs weight matrices of shapes {shapes} (units x inputs, layer by layer), "
            f"got {[tuple(w.shape) for w in given]}."
        )
    return given
