"""A deep kernel network as a description: elementary kernels on views, layers, and what there is to evaluate."""

from __future__ import annotations

from dataclasses import dataclass
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
