"""The forward pass over stored tiles, and the gradient of a function of the output kernel back to the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gramless.dkn import Layer, forward
from gramless.learning.elementary import ElementaryValues, Tile

CPU_PAIRS = 1 << 14  # pairs at a time: long enough to hide the bookkeeping, short enough for the cache
GPU_PAIRS = 1 << 21


def gram_matrix(layers: Sequence[Layer], elementary: ElementaryValues) -> Tensor:
    """The output kernel of the samples: (n, n), symmetric."""
    n = elementary.n_samples
    gram = torch.empty(n, n, device=elementary.device)
    for tile in elementary.square():
        values = forward(layers, tile.values)
        gram[tile.rows, tile.columns] = values
        gram[tile.columns, tile.rows] = values.T
    return gram


def cross_matrix(layers: Sequence[Layer], elementary: ElementaryValues) -> Tensor:
    """The output kernel of the others with the samples: (m, n)."""
    cross = torch.empty(elementary.n_others, elementary.n_samples, device=elementary.device)
    for tile in elementary.across():
        cross[tile.rows, tile.columns] = forward(layers, tile.values)
    return cross


def weight_gradients(
    layers: Sequence[Layer], elementary: ElementaryValues, tile_gradient: Callable[[Tile], Tensor]
) -> list[Tensor]:
    """dJ / dw of every layer, (n_units, n_inputs) each in float64, from dJ / dkappa tile by tile.

    Goes through each tile a few thousand pairs at a time, forward and back (the chain rule of Eq. 1): hidden values are
    recomputed, never kept. About three forward passes' worth of work.
    """
    device = elementary.device
    weights = [layer.weights.to(device=device, dtype=torch.float32).requires_grad_() for layer in layers]
    totals = [torch.zeros_like(weight, dtype=torch.float64) for weight in weights]
    n_pairs = GPU_PAIRS if device.type == "cuda" else CPU_PAIRS
    for tile in elementary.square():
        inputs = tile.values.flatten(1)  # (n_kernels, pairs)
        slopes = tile_gradient(tile).flatten() * tile.multiplicity
        for values, slope in zip(inputs.split(n_pairs, dim=1), slopes.split(n_pairs), strict=True):
            for layer, weight in zip(layers, weights, strict=True):
                values = layer.activation(weight @ values)  # (n_units, pairs)
            for total, gradient in zip(totals, torch.autograd.grad(values[0], weights, slope), strict=True):
                total += gradient
    return totals
