"""Evaluate a network of elementary kernels, pair by pair, in one pass.

A tile of TILE pairs goes from its statistics through the elementary kernels and all layers before the next begins: the
values of kernels and units, of which there are many more than pairs, never leave the nearest caches. A pair costs a
few operations per kernel, two per weight and about twenty per unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit, prange

from gramless.engine.cpu import tiles
from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.packing import Numbers, check_floats, pack_kernels, pack_layers
from gramless.engine.cpu.threads import threads_of_torch
from gramless.engine.cpu.tiles import TILE, UNITS
from gramless.engine.program import DenseLayer, Elementary, Function, Sides
from gramless.kernels.operations import Operation

# A task's pairs: along a row, memory is read in order; and rows share what the second-level cache has of the columns.
TASK_ROWS, TASK_COLUMNS = 16, 16 * TILE
LINE = 16  # float32 numbers in a line of the cache

_POWER, _EXPONENTIAL, _ARC_0, _ARC_1, _ARC_2, _NONPOSITIVE, _INVERSE_POWER = (int(operation) for operation in Operation)
_IDENTITY, _TANH, _SINH, _EXP, _POLYNOMIAL = (int(function) for function in Function)


def evaluate(
    planes: Numbers,
    elementary: Elementary,
    rows: Sides,
    columns: Sides,
    layers: Sequence[DenseLayer],
    scale: float,
    out: Numbers,
) -> None:
    """out (n, m) = scale times the network's value, from the statistics in planes (n_planes, n, m).

    C-contiguous float32 arrays; the last layer has one unit.
    """
    planes, out = np.asarray(planes), np.asarray(out)
    check_floats(out, planes)
    assert planes.shape[1:] == out.shape, "planes and out are of different pairs"
    kernels = pack_kernels(elementary, rows, columns)
    packed = pack_layers(layers, len(elementary))
    assert packed.widths[-1] == 1, "the last layer must have one unit"
    with threads_of_torch():
        _evaluate(planes, kernels, packed, np.float32(scale), out)


def elementary_values(planes: Numbers, elementary: Elementary, rows: Sides, columns: Sides, out: Numbers) -> None:
    """out (n_kernels, n, m): all elementary kernels from the statistics in planes (n_planes, n, m)."""
    planes, out = np.asarray(planes), np.asarray(out)
    check_floats(out, planes)
    assert out.shape == (len(elementary), *planes.shape[1:]), "planes and out are of different pairs"
    kernels = pack_kernels(elementary, rows, columns)
    with threads_of_torch():
        _elementary_values(planes, kernels, out)


def forward(values: Numbers, layers: Sequence[DenseLayer], scale: float, out: Numbers) -> None:
    """out (n_pairs,) = scale times the network's value, from elementary kernels in values (n_kernels, n_pairs)."""
    values, out = np.asarray(values), np.asarray(out)
    check_floats(out, values)
    assert out.shape == values.shape[1:], "values and out are of different pairs"
    packed = pack_layers(layers, len(values))
    assert packed.widths[-1] == 1, "the last layer must have one unit"
    with threads_of_torch():
        _forward(values, packed, np.float32(scale), out)


@njit
def _elementary_tile(
    planes: Any, kernels: Any, first_row: Any, n_rows: Any, first_column: Any, n_columns: Any, values: Any
) -> Any:
    """values (n_kernels, TILE) of the pairs of a few rows with the same columns, row after row."""
    m = planes.shape[2]
    start = np.intp(values.ctypes.data)
    for kernel in range(len(kernels.operation)):
        row_of_tile = start + 4 * kernel * TILE
        for row in range(n_rows):
            i = first_row + row
            place = row_of_tile + 4 * row * n_columns
            pair = 4 * ((kernels.plane[kernel] * planes.shape[1] + i) * m + first_column)
            side = 4 * (kernel * m + first_column)
            tiles.affine(
                np.intp(planes.ctypes.data) + pair,
                np.intp(kernels.column_shift.ctypes.data) + side,
                np.intp(kernels.column_gain.ctypes.data) + side,
                place,
                n_columns,
                kernels.slope[kernel],
                kernels.row_shift[kernel, i],
                kernels.row_gain[kernel, i],
            )
        _operate(kernels.operation[kernel], kernels.exponent[kernel], row_of_tile)
        for row in range(n_rows):
            tiles.rescale(
                np.intp(kernels.column_factor.ctypes.data) + 4 * (kernel * m + first_column),
                row_of_tile + 4 * row * n_columns,
                n_columns,
                kernels.row_factor[kernel, first_row + row],
            )


@njit
def _operate(operation: Any, exponent: Any, values: Any) -> Any:
    if operation == _POWER:
        if exponent > 1:
            tiles.power(values, TILE, np.int64(exponent))
    elif operation == _EXPONENTIAL:
        tiles.decaying_exp(values, TILE)
    elif operation == _ARC_0:
        tiles.arc_cosine_0(values, TILE)
    elif operation == _ARC_1:
        tiles.arc_cosine_1(values, TILE)
    elif operation == _ARC_2:
        tiles.arc_cosine_2(values, TILE)
    elif operation == _NONPOSITIVE:
        tiles.nonpositive(values, TILE)
    elif operation == _INVERSE_POWER:
        tiles.inverse_power(values, TILE, exponent)


@njit
def activate(layers: Any, layer: Any, values: Any, count: Any) -> Any:
    """The layer's function of `count` numbers, in place."""
    function = layers.function[layer]
    if function == _TANH:
        tiles.tanh(values, count)
    elif function == _SINH:
        tiles.sinh(values, count)
    elif function == _EXP:
        tiles.exp(values, count)
    elif function == _POLYNOMIAL:
        first, end = layers.first_coefficient[layer], layers.first_coefficient[layer + 1]
        tiles.polynomial(values, count, np.intp(layers.coefficients.ctypes.data) + 4 * first, end - first)


@njit
def multiply(weights: Any, n_units: Any, n_inputs: Any, values: Any, out: Any, width: Any) -> Any:
    """out (n_units, width) = weights (n_units, n_inputs) values (n_inputs, width), at these addresses."""
    unit = 0
    while unit < n_units:
        at = weights + 4 * unit * n_inputs
        to = out + 4 * unit * width
        if unit + UNITS <= n_units:
            tiles.products(at, values, to, n_inputs, width)
            unit += UNITS
        else:
            tiles.product(at, values, to, n_inputs, width)
            unit += 1


@njit
def _network_tile(layers: Any, values: Any, spare: Any) -> Any:
    """Run the layers on a tile in `values`, by turns into `spare` and back; returns the address of the result."""
    inputs, outputs = np.intp(values.ctypes.data), np.intp(spare.ctypes.data)
    for layer in range(len(layers.function)):
        n_inputs, n_units = layers.widths[layer], layers.widths[layer + 1]
        weights = np.intp(layers.weights.ctypes.data) + 4 * layers.first_weight[layer]
        multiply(weights, n_units, n_inputs, inputs, outputs, TILE)
        activate(layers, layer, outputs, n_units * TILE)
        inputs, outputs = outputs, inputs
    return inputs


@njit
def tile_memory(n_rows: Any, width: Any) -> Any:
    """(n_rows, width) zeros at the start of a cache line: vectors across two lines take twice the time."""
    memory = np.zeros(n_rows * width + LINE, np.float32)
    skip = -(np.intp(memory.ctypes.data) // 4) % LINE
    return memory[skip : skip + n_rows * width].reshape(n_rows, width)


@njit
def _task(number: Any, n: Any, m: Any) -> Any:
    """The rows and columns of a task, half-open, and how many rows a tile of it has: several of few columns."""
    n_wide = (m + TASK_COLUMNS - 1) // TASK_COLUMNS
    tile_rows = max(1, TILE // m)
    top, left = number // n_wide * TASK_ROWS * tile_rows, number % n_wide * TASK_COLUMNS
    return top, min(n, top + TASK_ROWS * tile_rows), left, min(m, left + TASK_COLUMNS), tile_rows


@njit
def _n_tasks(n: Any, m: Any) -> Any:
    height = TASK_ROWS * max(1, TILE // m)
    return (m + TASK_COLUMNS - 1) // TASK_COLUMNS * ((n + height - 1) // height)


@compiled
def _evaluate(planes: Any, kernels: Any, layers: Any, scale: Any, out: Any) -> Any:
    n, m = out.shape
    widest = layers.widths.max()
    for task in prange(_n_tasks(n, m)):
        values, spare = tile_memory(widest, TILE), tile_memory(widest, TILE)
        top, bottom, left, right, tile_rows = _task(np.int64(task), n, m)
        for i in range(top, bottom, tile_rows):
            n_rows = min(tile_rows, bottom - i)
            for j in range(left, right, TILE):
                n_columns = min(TILE, right - j)
                _elementary_tile(planes, kernels, i, n_rows, j, n_columns, values)
                result = _network_tile(layers, values, spare)
                for row in range(n_rows):
                    to = np.intp(out.ctypes.data) + 4 * ((i + row) * m + j)
                    tiles.scale_to(result + 4 * row * n_columns, to, n_columns, scale)


@compiled
def _elementary_values(planes: Any, kernels: Any, out: Any) -> Any:
    n_kernels, n, m = out.shape
    for task in prange(_n_tasks(n, m)):
        values = tile_memory(n_kernels, TILE)
        top, bottom, left, right, tile_rows = _task(np.int64(task), n, m)
        for i in range(top, bottom, tile_rows):
            n_rows = min(tile_rows, bottom - i)
            for j in range(left, right, TILE):
                n_columns = min(TILE, right - j)
                _elementary_tile(planes, kernels, i, n_rows, j, n_columns, values)
                for kernel in range(n_kernels):
                    for row in range(n_rows):
                        start = np.intp(values.ctypes.data) + 4 * (kernel * TILE + row * n_columns)
                        to = np.intp(out.ctypes.data) + 4 * ((kernel * n + i + row) * m + j)
                        tiles.scale_to(start, to, n_columns, np.float32(1.0))


@compiled
def _forward(values: Any, layers: Any, scale: Any, out: Any) -> Any:
    widest, n_pairs = layers.widths.max(), len(out)
    for task in prange(_n_tasks(1, n_pairs)):
        tile, spare = tile_memory(widest, TILE), tile_memory(widest, TILE)
        _, _, left, right, _ = _task(np.int64(task), 1, n_pairs)
        for first in range(left, right, TILE):
            n_columns = min(TILE, right - first)
            load_tile(values, first, n_columns, tile)
            result = _network_tile(layers, tile, spare)
            tiles.scale_to(result, np.intp(out.ctypes.data) + 4 * first, n_columns, scale)


@njit
def load_tile(values: Any, first: Any, count: Any, tile: Any) -> Any:
    """Columns first, first + 1, ... of values into the first columns of the tile."""
    for row in range(len(values)):
        start = np.intp(values.ctypes.data) + 4 * (row * values.shape[1] + first)
        tiles.scale_to(start, np.intp(tile.ctypes.data) + 4 * row * tile.shape[1], count, np.float32(1.0))
