"""A program as the Triton kernels take it: what is known when they are compiled, and small padded arrays.

Tensor cores want widths that are powers of two, and a tile of values one operation. The elementary kernels are
therefore sorted by operation, and every width is cut into pieces of 64, 32 and 16, the last one padded with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
from torch import Tensor

from gramless.engine.program import DenseLayer, Elementary
from gramless.kernels import Operation

WIDTHS = (64, 32, 16)
MAX_KERNELS = 64  # padded, in the registers of a tile together with its units
MAX_UNITS = 128
MAX_HIDDEN_LAYERS = 2


@triton.constexpr_function
def item(nested: Any, *indices: int) -> Any:
    """nested[i][j]...: the compiler loses track of nested tuples that are handed on."""
    for index in indices:
        nested = nested[index]
    return nested


@triton.constexpr_function
def count(nested: Any, *indices: int) -> int:
    """len(nested[i][j]...)."""
    for index in indices:
        nested = nested[index]
    return len(nested)


def pieces(n: int) -> tuple[int, ...]:
    """Widths, each of WIDTHS, that hold n together."""
    widths, rest = [], triton.cdiv(n, WIDTHS[-1]) * WIDTHS[-1]
    while rest:
        widths.append(next(width for width in WIDTHS if width <= rest))
        rest -= widths[-1]
    return tuple(widths)


def equal_pieces(n: int) -> tuple[int, ...]:
    """Equal widths that hold n together: the inputs of a product are then laid out once for all pieces."""
    padded = triton.cdiv(n, WIDTHS[-1]) * WIDTHS[-1]
    width = next(width for width in WIDTHS if padded % width == 0)
    return (width,) * (padded // width)


def fits(input_widths: tuple[int, ...], layers: Sequence[DenseLayer]) -> bool:
    """Whether a tile goes through all layers without leaving the chip."""
    hidden = [sum(equal_pieces(layer.weights.shape[0])) for layer in layers[:-1]]
    return sum(input_widths) <= MAX_KERNELS and len(hidden) <= MAX_HIDDEN_LAYERS and max(hidden, default=0) <= MAX_UNITS


@dataclass(frozen=True, eq=False)
class Kernels:
    """Elementary kernels in the order of their operations, padded.

    groups: (operation, width, highest degree, first place) of each piece. The tables have one entry per place: the
    kernel (-1 for padding), its plane, its exponent and its slope.
    """

    groups: tuple[tuple[int, int, int, int], ...]
    kernel: Tensor
    plane: Tensor
    exponent: Tensor
    slope: Tensor

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(width for _, width, _, _ in self.groups)


def arrange(elementary: Elementary, device: torch.device) -> Kernels:
    groups: list[tuple[int, int, int, int]] = []
    members_of: list[np.ndarray] = []
    for operation in np.unique(elementary.operation):
        members = np.flatnonzero(elementary.operation == operation)
        highest = int(elementary.exponent[members].max()) if operation == Operation.POWER else 1
        for width in pieces(len(members)):
            here, members = members[:width], members[width:]
            groups.append((int(operation), width, highest, sum(map(len, members_of))))
            members_of.append(np.pad(here, (0, width - len(here)), constant_values=-1))
    kernel = np.concatenate(members_of).astype(np.int32)

    def table(column: np.ndarray, dtype: type) -> Tensor:
        return torch.from_numpy(np.where(kernel < 0, 0, column[kernel]).astype(dtype)).to(device)

    return Kernels(
        tuple(groups),
        torch.from_numpy(kernel).to(device),
        table(elementary.plane, np.int32),
        table(elementary.exponent, np.float32),
        table(elementary.slope, np.float32),
    )


@dataclass(frozen=True, eq=False)
class PackedNetwork:
    """Layers with padded weights, cut into blocks, (width of inputs, width of units) each, one after the other.

    layers: (widths of the units' pieces, first weight of each block by [units' piece][inputs' piece], function,
    coefficients) of each layer. The last layer has one unit, and its blocks one column.
    """

    layers: tuple[tuple[tuple[int, ...], tuple[tuple[int, ...], ...], int, tuple[float, ...]], ...]
    weights: Tensor


def pack(layers: Sequence[DenseLayer], inputs: Tensor, input_widths: tuple[int, ...]) -> PackedNetwork:
    """The network on inputs that lie in the order `inputs` (-1 for padding), in pieces of these widths."""
    described, blocks, first = [], [], 0
    for layer in layers:
        n_units = layer.weights.shape[0]
        widths = (1,) if layer is layers[-1] else equal_pieces(n_units)
        padded = layer.weights.new_zeros(len(inputs), sum(widths))
        padded[:, :n_units] = torch.where(inputs[:, None] < 0, 0.0, layer.weights.T[inputs.clamp_min(0)])
        starts = []
        for columns in padded.split(widths, dim=1):
            starts.append(tuple(first + start * columns.shape[1] for start in _starts(input_widths)))
            blocks.append(columns.flatten())
            first += columns.numel()
        described.append((widths, tuple(starts), int(layer.function), tuple(layer.coefficients)))
        inputs, input_widths = places(n_units, sum(widths), inputs.device), widths
    return PackedNetwork(tuple(described), torch.cat(blocks))


def places(n: int, n_padded: int, device: torch.device) -> Tensor:
    """0, 1, ..., n - 1, then -1 for padding."""
    numbers = torch.arange(n_padded, device=device)
    return torch.where(numbers < n, numbers, -1)


def unpack(
    packed: Tensor, network: PackedNetwork, layers: Sequence[DenseLayer], input_widths: tuple[int, ...]
) -> list[Tensor]:
    """Numbers that lie like the network's weights as (n_units, n_inputs) of each layer; inputs in their own order."""
    found = []
    for layer, (widths, starts, _, _) in zip(layers, network.layers, strict=True):
        n_rows = sum(input_widths)
        columns = [
            packed[first[0] : first[0] + n_rows * w].view(n_rows, w) for w, first in zip(widths, starts, strict=True)
        ]
        n_units, n_inputs = layer.weights.shape
        found.append(torch.cat(columns, 1)[:n_inputs, :n_units].T)
        input_widths = widths
    return found


def _starts(widths: tuple[int, ...]) -> list[int]:
    return [sum(widths[:k]) for k in range(len(widths))]
