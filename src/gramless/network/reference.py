"""Through the layers in plain PyTorch, forward and back: any type, any activation, any device.

Some pairs at a time, so that hidden values stay small: n_units n_inputs multiply-adds per pair and layer forward, about
three times as many back.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gramless.network.network import Layer

CPU_PAIRS = 4096  # at a time, forward: the hidden values of a chunk stay in the processor's cache
GPU_PAIRS = 1 << 20
BACKWARD_CHUNKS = 4  # as many pairs back as in so many chunks forward: its bookkeeping is longer


def output_values(layers: Sequence[Layer], values: Tensor) -> Tensor:
    """The output kernel (...) from the elementary kernel values (n_kernels, ...).

    Goes through a few thousand pairs at a time, so that hidden values, n_units of them per pair, never reach memory:
    n_units n_inputs multiply-adds and n_units activations per pair and layer.
    """
    inputs = values.reshape(len(values), -1)  # (n_kernels, n_pairs)
    n_pairs = inputs.shape[1]
    weights = [layer.weights.to(values) for layer in layers]
    output = values.new_empty(n_pairs)
    chunk = _chunk(values)
    for start in range(0, n_pairs, chunk):
        hidden = inputs[:, start : start + chunk]
        for layer, weight in zip(layers, weights, strict=True):
            hidden = layer.activation.apply_(weight @ hidden)  # (n_units, chunk)
        output[start : start + chunk] = hidden[0]
    return output.reshape(values.shape[1:])


def gradients(layers: Sequence[Layer], values: Tensor, slopes: Tensor) -> list[Tensor]:
    """d / dw of the sum over pairs of slope * output, from values (n_kernels, n_pairs): a float64 matrix per layer.

    Hidden values are computed again for every chunk, never kept.
    """
    weights = [layer.weights.to(values).requires_grad_() for layer in layers]
    totals = [torch.zeros_like(weight, dtype=torch.float64) for weight in weights]
    n_pairs = BACKWARD_CHUNKS * _chunk(values)
    for inputs, slope in zip(values.split(n_pairs, dim=1), slopes.split(n_pairs), strict=True):
        with torch.enable_grad():
            for layer, weight in zip(layers, weights, strict=True):
                inputs = layer.activation(weight @ inputs)  # (n_units, pairs)
        for total, gradient in zip(totals, torch.autograd.grad(inputs[0], weights, slope), strict=True):
            total += gradient
    return totals


def _chunk(values: Tensor) -> int:
    return GPU_PAIRS if values.is_cuda else CPU_PAIRS
