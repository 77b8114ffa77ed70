"""Forward and backward through the layers on elementary kernel values that are kept: what learning does in every step.

n_units n_inputs multiply-adds per pair and layer forward, about three times as many back; no value of a hidden unit
reaches memory in the fused evaluators.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gramless.engine.backends import dense_layers, find_backend
from gramless.network import Layer, gradients, output_values


def network_values(layers: Sequence[Layer], values: Tensor) -> Tensor:
    """The output kernel (...) of elementary values (n_kernels, ...)."""
    backend = find_backend(layers, values.dtype, values.device)
    if backend is None:
        return output_values(layers, values)
    output = torch.empty(values.shape[1:], dtype=values.dtype, device=values.device)
    backend.forward(
        values.flatten(1).contiguous(), dense_layers(layers, values.device, values.dtype), 1.0, output.view(-1)
    )
    return output


def network_gradients(layers: Sequence[Layer], values: Tensor, slopes: Tensor) -> list[Tensor]:
    """d / dw of the sum over pairs of slope * output (the chain rule of Eq. 1): float64, one matrix per layer."""
    values, slopes = values.flatten(1).contiguous(), slopes.flatten().contiguous()
    backend = find_backend(layers, values.dtype, values.device)
    if backend is None:
        return gradients(layers, values, slopes)
    return [
        torch.as_tensor(found)
        for found in backend.backward(values, slopes, dense_layers(layers, values.device, values.dtype))
    ]
