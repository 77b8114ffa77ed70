"""One layer of a deep kernel network, and the forward pass through several (Eq. 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.network.activations import Activation

CPU_PAIRS = 4096  # pairs at a time: the hidden values of a chunk stay in the processor's cache
GPU_PAIRS = 1 << 20


@dataclass(frozen=True, eq=False)
class Layer:
    """kappa_p = g(sum_q w_pq kappa_q): non-negative weights (n_units, n_inputs) and an activation g."""

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


def forward(layers: Sequence[Layer], values: Tensor) -> Tensor:
    """The output kernel (...) from the elementary kernel values (n_kernels, ...).

    Goes through a few thousand pairs at a time, so that hidden values, n_units of them per pair, never reach memory:
    n_units n_inputs multiply-adds and n_units activations per pair and layer.
    """
    inputs = values.reshape(len(values), -1)  # (n_kernels, n_pairs)
    n_pairs = inputs.shape[1]
    weights = [layer.weights.to(values) for layer in layers]
    output = values.new_empty(n_pairs)
    chunk = GPU_PAIRS if values.is_cuda else CPU_PAIRS
    for start in range(0, n_pairs, chunk):
        hidden = inputs[:, start : start + chunk]
        for layer, weight in zip(layers, weights, strict=True):
            hidden = layer.activation.apply_(weight @ hidden)  # (n_units, chunk)
        output[start : start + chunk] = hidden[0]
    return output.reshape(values.shape[1:])


def unit_values(layers: Sequence[Layer], values: Tensor) -> list[Tensor]:
    """The values of every unit of every layer, (n_units, ...) each: for looking inside a network on small data."""
    found = []
    for layer in layers:
        values = layer.activation(torch.tensordot(layer.weights.to(values), values, dims=1))
        found.append(values)
    return found
