"""Forward and backward through the layers on elementary kernel values that are kept: what learning does in every step.

n_units n_inputs multiply-adds per pair and layer forward, about three times as many back; no value of a hidden unit
reaches memory in the fused evaluators.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gramless.engine.backends import dense_layers, find_backend
from gramless.network import Layer, forward

CPU_PAIRS = 1 << 14  # of the reference, at a time: long enough to hide the bookkeeping, short enough for the cache
GPU_PAIRS = 1 << 21


def network_values(layers: Sequence[Layer], values: Tensor) -> Tensor:
    """The output kernel (...) of elementary values (n_kernels, ...)."""
    backend = find_backend(layers, values.dtype, values.device)
    if backend is None:
        return forward(layers, values)
    output = torch.empty(values.shape[1:], dtype=values.dtype, device=values.device)
    flat = values.flatten(1)
    if values.is_cuda:
        backend.forward(flat, dense_layers(layers, values.device), 1.0, output.view(-1))
    else:
        backend.forward(flat.contiguous().numpy(), dense_layers(layers, values.device), 1.0, output.view(-1).numpy())
    return output


def network_gradients(layers: Sequence[Layer], values: Tensor, slopes: Tensor) -> list[Tensor]:
    """d / dw of the sum over pairs of slope * output (the chain rule of Eq. 1): float64, one matrix per layer."""
    values, slopes = values.flatten(1), slopes.flatten()
    backend = find_backend(layers, values.dtype, values.device)
    if backend is None:
        return _reference_gradients(layers, values, slopes)
    dense = dense_layers(layers, values.device)
    if values.is_cuda:
        return backend.backward(values, slopes, dense)
    found = backend.backward(values.contiguous().numpy(), slopes.contiguous().numpy(), dense)
    return [torch.from_numpy(gradient) for gradient in found]


def _reference_gradients(layers: Sequence[Layer], values: Tensor, slopes: Tensor) -> list[Tensor]:
    weights = [layer.weights.to(values).requires_grad_() for layer in layers]
    totals = [torch.zeros_like(weight, dtype=torch.float64) for weight in weights]
    n_pairs = GPU_PAIRS if values.is_cuda else CPU_PAIRS
    for inputs, slope in zip(values.split(n_pairs, dim=1), slopes.split(n_pairs), strict=True):
        for layer, weight in zip(layers, weights, strict=True):
            inputs = layer.activation(weight @ inputs)  # (n_units, pairs)
        for total, gradient in zip(totals, torch.autograd.grad(inputs[0], weights, slope), strict=True):
            total += gradient
    return totals
