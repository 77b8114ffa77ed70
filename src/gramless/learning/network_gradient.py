"""The forward pass over stored tiles, and the gradient of a function of the output kernel back to the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gramless.engine import finite, network_gradients, network_values
from gramless.learning.elementary import ElementaryValues, Tile
from gramless.network import Layer


def gram_matrix(layers: Sequence[Layer], elementary: ElementaryValues) -> Tensor:
    """The output kernel of the samples: (n, n), symmetric."""
    n = elementary.n_samples
    gram = torch.empty(n, n, device=elementary.device)
    for tile in elementary.square():
        block = tile.block(network_values(layers, tile.values))
        gram[tile.rows, tile.columns] = block
        if not tile.on_diagonal:
            gram[tile.columns, tile.rows] = block.T
    return finite(gram)


def cross_matrix(layers: Sequence[Layer], elementary: ElementaryValues) -> Tensor:
    """The output kernel of the others with the samples: (m, n)."""
    cross = torch.empty(elementary.n_others, elementary.n_samples, device=elementary.device)
    for tile in elementary.across():
        cross[tile.rows, tile.columns] = network_values(layers, tile.values)
    return finite(cross)


def weight_gradients(
    layers: Sequence[Layer], elementary: ElementaryValues, tile_gradient: Callable[[Tile], Tensor]
) -> list[Tensor]:
    """dJ / dw of every layer, (n_units, n_inputs) each in float64, from dJ / dkappa tile by tile.

    Forward and back through each tile: hidden values are recomputed, never kept.
    """
    totals = [torch.zeros(layer.weights.shape, dtype=torch.float64, device=elementary.device) for layer in layers]
    for tile in elementary.square():
        slopes = tile.folded(tile_gradient(tile))
        for total, gradient in zip(totals, network_gradients(layers, tile.values, slopes), strict=True):
            total += gradient
    return totals
