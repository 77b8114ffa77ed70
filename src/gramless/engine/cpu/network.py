"""Evaluate a network of elementary kernels, pair by pair, from samples to values, or to their projection.

A task is a few rows with all columns. TILE columns at a time, its statistics are summed up, go through the elementary
kernels and all layers, and what comes out is projected in the end: the values of statistics, kernels and units, of
which there are many more than pairs, never leave the nearest caches, and a thread goes from samples to vectors without
waiting for another. A pair costs the sums over its features, a few operations per kernel, two per weight and about
twenty per unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numba import carray, njit, types

from gramless.engine.cpu import tiles
from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.moments import own_numbers
from gramless.engine.cpu.packing import (
    Array,
    Kernels,
    Layers,
    Packed,
    Statistics,
    addresses,
    check_floats,
    pack_layers,
)
from gramless.engine.cpu.pair_tiles import (
    CHI_SQUARE,
    CITY_BLOCK,
    GIVEN,
    MINIMUM,
    MINIMUM_OF_CODES,
    PRODUCT,
    add_block,
)
from gramless.engine.cpu.panels import LINE, ROWS, add_panel
from gramless.engine.cpu.sums import encode_into
from gramless.engine.cpu.threads import give_up, run, tasks
from gramless.engine.cpu.tiles import TILE, UNITS
from gramless.engine.cpu.vectors import intrinsic, one_like, size_of
from gramless.engine.program import DenseLayer, Function
from gramless.kernels.operations import Operation

# Of a task: enough that columns, which come from afar, are used often, and few enough that statistics stay near.
MOST_ROWS = 8 * ROWS
TASKS_PER_THREAD = 8  # at least, so that all end together
PAIRS_OF_A_TASK = 64 * TILE  # where there is nothing but pairs

_POWER, _EXPONENTIAL, _ARC_0, _ARC_1, _ARC_2, _NONPOSITIVE, _INVERSE_POWER = (int(operation) for operation in Operation)
_IDENTITY, _TANH, _SINH, _EXP, _POLYNOMIAL = (int(function) for function in Function)


def evaluate(
    program: Packed,
    operands: Sequence[np.ndarray],
    numbers: np.ndarray | None,
    layers: Layers,
    scale: float,
    out: np.ndarray,
    matrix: np.ndarray | None = None,
) -> bool:
    """out (n, m) = scale times the network's value; with a matrix, as panels of (m, n_components), its projection;
    without layers, all elementary kernels, (n_kernels, n, m).

    numbers : (3, n_kernels, n), shifts, gains and factors of the rows. Where there are none, they follow from the
        operands as the program says, and False says that they do not, or that a row may not be: `out` is of no use then
    All C-contiguous, and of one type.
    """
    n, (_, n_kernels, m), dtype = len(operands[0]), program.kernels.columns.shape, out.dtype
    assert all(len(x) == n for x in operands), "operands have different numbers of rows"
    if numbers is None:
        numbers = np.empty((3, n_kernels, n), dtype)
    if matrix is None:
        matrix = np.empty((0, m, TILE), dtype)
    check_floats(out, numbers, matrix, *operands)
    assert matrix.shape[1] == m, "the matrix is of other columns"
    width = out.shape[-1] if len(matrix) else m
    assert out.shape == ((n, width) if len(layers.function) else (n_kernels, n, m)), "out is of other pairs"
    assert not len(matrix) or len(matrix) == -(-width // TILE), "the matrix has another number of components"
    wanted = n // (TASKS_PER_THREAD * torch.get_num_threads())
    height = min(max(wanted // ROWS, 1) * ROWS, MOST_ROWS)  # whole register tiles
    packed = tuple(map(tuple, (*program, layers)))  # Numba is slow with named ones
    places = addresses(operands)
    return run(_evaluate, -(-n // height), height, packed, places, numbers, dtype.type(scale), matrix, out.reshape(-1))


def network_values(values: Array, layers: Sequence[DenseLayer]) -> np.ndarray:
    """The network's value of every pair, (n_pairs,), from elementary kernels (n_kernels, n_pairs)."""
    values = np.asarray(values)
    check_floats(values)
    out = np.empty(values.shape[1], values.dtype)
    run(_fill, -(-len(out) // PAIRS_OF_A_TASK), values, pack_layers(layers, len(values), out.dtype), out)
    return out


def thread_bytes(size: int, n_planes: int, widest: int, n_features: int, n_columns: int) -> int:
    """What a thread of `evaluate` works in, at most: planes, two tiles of units, responses and codes of a task's rows.

    size : bytes of a number; n_columns : of the matrix that responses are projected by
    """
    return size * (TILE * (n_planes * MOST_ROWS + 2 * widest) + MOST_ROWS * n_columns) + MOST_ROWS * n_features


@intrinsic
def _pointer_to(typing: Any, address: Any, zero: Any) -> Any:
    """The address of numbers of this type, as `carray` takes it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(zero)(types.intp, zero), generate


@njit
def _encode_rows(statistics: Any, places: Any, top: Any, bottom: Any, codes: Any, zero: Any) -> Any:
    """Codes of rows top..bottom of every plane that needs them, one plane after the other."""
    start = 0
    for plane in range(len(statistics.term)):
        if statistics.term[plane] == MINIMUM_OF_CODES:
            d = statistics.width[plane]
            count = (bottom - top) * d
            x = places[statistics.source[plane]] + top * d * size_of(zero)
            numbers = carray(_pointer_to(x, zero), (count,))
            encode_into(numbers, np.float32(1.0 / statistics.step[plane]), codes[start : start + count])
            start += count


@njit
def _sum_up(
    statistics: Any,
    places: Any,
    codes: Any,
    top: Any,
    bottom: Any,
    left: Any,
    width: Any,
    m: Any,
    planes: Any,
    zero: Any,
) -> Any:
    """planes (n_planes, height, TILE) of rows top..bottom and so many columns."""
    size, n_rows = size_of(zero), bottom - top
    code = np.intp(codes.ctypes.data)
    for plane in range(len(statistics.term)):
        term, d = statistics.term[plane], statistics.width[plane]
        out = np.intp(planes.ctypes.data) + plane * planes.shape[1] * TILE * size
        x, z = places[statistics.source[plane]] + top * d * size, statistics.z[plane] + left * d * size
        if term == PRODUCT:
            add_panel(PRODUCT, x, z, out, n_rows, d, zero)
        elif term == MINIMUM:
            add_panel(MINIMUM, x, z, out, n_rows, d, zero)
        elif term == CITY_BLOCK:
            add_panel(CITY_BLOCK, x, z, out, n_rows, d, zero)
        elif term == CHI_SQUARE:
            add_panel(CHI_SQUARE, x, z, out, n_rows, d, zero)
        elif term == GIVEN:
            for row in range(n_rows):
                tiles.scale_to(x + (row * m + left) * size, out + row * TILE * size, width, one_like(zero))
        else:
            z = statistics.z[plane] + left * d
            add_block(MINIMUM_OF_CODES, code, z, out, n_rows, width, d, TILE, zero)
            sums = carray(_pointer_to(out, np.int32(0)), (n_rows * TILE,))
            values = carray(_pointer_to(out, zero), (n_rows * TILE,))
            for k in range(n_rows * TILE):
                values[k] = sums[k] * statistics.step[plane]
            code += n_rows * d


@njit
def _elementary_tile(
    planes: Any, kernels: Any, rows: Any, top: Any, first_row: Any, n_rows: Any, left: Any, n_columns: Any, values: Any
) -> Any:
    """values (n_kernels, TILE) of the pairs of a few rows with the same columns, row after row."""
    size, m = values.itemsize, kernels.columns.shape[2]
    start, columns = np.intp(values.ctypes.data), np.intp(kernels.columns.ctypes.data)
    n_kernels = len(kernels.operation)
    for kernel in range(n_kernels):
        row_of_tile = start + size * kernel * TILE
        shift = columns + size * (kernel * m + left)
        for row in range(n_rows):
            i = first_row + row
            plane = (kernels.plane[kernel] * planes.shape[1] + i - top) * TILE
            tiles.affine(
                np.intp(planes.ctypes.data) + size * plane,
                shift,
                shift + size * n_kernels * m,
                row_of_tile + size * row * n_columns,
                n_columns,
                kernels.slope[kernel],
                rows[0, kernel, i],
                rows[1, kernel, i],
            )
        _operate(kernels.operation[kernel], kernels.exponent[kernel], row_of_tile)
        for row in range(n_rows):
            tiles.rescale(
                shift + 2 * size * n_kernels * m,
                row_of_tile + size * row * n_columns,
                n_columns,
                rows[2, kernel, first_row + row],
            )


@njit
def _operate(operation: Any, exponent: Any, values: Any) -> Any:
    if operation == _POWER:
        if exponent > 1:
            tiles.power(values, TILE, np.int64(exponent), exponent)
    elif operation == _EXPONENTIAL:
        tiles.decaying_exp(values, TILE, exponent)
    elif operation == _ARC_0:
        tiles.arc_cosine_0(values, TILE, exponent)
    elif operation == _ARC_1:
        tiles.arc_cosine_1(values, TILE, exponent)
    elif operation == _ARC_2:
        tiles.arc_cosine_2(values, TILE, exponent)
    elif operation == _NONPOSITIVE:
        tiles.nonpositive(values, TILE, exponent)
    elif operation == _INVERSE_POWER:
        tiles.inverse_power(values, TILE, exponent)


@njit
def activate(layers: Any, layer: Any, values: Any, count: Any) -> Any:
    """The layer's function of `count` numbers, in place."""
    function, zero = layers.function[layer], layers.weights[0]
    if function == _TANH:
        tiles.tanh(values, count, zero)
    elif function == _SINH:
        tiles.sinh(values, count, zero)
    elif function == _EXP:
        tiles.exp(values, count, zero)
    elif function == _POLYNOMIAL:
        first, end = layers.first_coefficient[layer], layers.first_coefficient[layer + 1]
        at = np.intp(layers.coefficients.ctypes.data) + layers.coefficients.itemsize * first
        tiles.polynomial(values, count, at, end - first, zero)


@njit
def multiply(weights: Any, n_units: Any, n_inputs: Any, values: Any, out: Any, width: Any, zero: Any) -> Any:
    """out (n_units, width) = weights (n_units, n_inputs) values (n_inputs, width), at these addresses."""
    unit, size = 0, size_of(zero)
    while unit < n_units:
        at = weights + size * unit * n_inputs
        to = out + size * unit * width
        if unit + UNITS <= n_units:
            tiles.products(UNITS, at, values, to, n_inputs, width, zero)
            unit += UNITS
        else:
            tiles.products(1, at, values, to, n_inputs, width, zero)
            unit += 1


@njit
def _network_tile(layers: Any, values: Any, spare: Any) -> Any:
    """Run the layers on a tile in `values`, by turns into `spare` and back; returns the address of the result."""
    inputs, outputs = np.intp(values.ctypes.data), np.intp(spare.ctypes.data)
    for layer in range(len(layers.function)):
        n_inputs, n_units = layers.widths[layer], layers.widths[layer + 1]
        weights = np.intp(layers.weights.ctypes.data) + layers.weights.itemsize * layers.first_weight[layer]
        multiply(weights, n_units, n_inputs, inputs, outputs, TILE, layers.weights[0])
        activate(layers, layer, outputs, n_units * TILE)
        inputs, outputs = outputs, inputs
    return inputs


@njit
def tile_memory(n_rows: Any, width: Any, zero: Any) -> Any:
    """(n_rows, width) zeros at the start of a cache line: vectors across two lines take twice the time."""
    size, one = size_of(zero), one_like(zero)
    memory = np.full(n_rows * width + LINE // size, one - one)
    skip = -(np.intp(memory.ctypes.data) // size) % (LINE // size)
    return memory[skip : skip + n_rows * width].reshape(n_rows, width)


@compiled
def _evaluate(
    counter: Any,
    n_tasks: Any,
    height: Any,
    packed: Any,
    places: Any,
    numbers: Any,
    scale: Any,
    matrix: Any,
    out: Any,
) -> Any:
    statistics, kernels, layers = Statistics(*packed[0]), Kernels(*packed[1]), Layers(*packed[3])
    (_, n_kernels, n), m, size = numbers.shape, kernels.columns.shape[2], out.itemsize
    own, looks = packed[2], len(packed[2][1]) > 0
    found = np.empty((len(own[7]), 4), out.dtype)
    widest, n_planes = layers.widths.max(), len(statistics.term)
    values, spare = tile_memory(widest, TILE, scale), tile_memory(widest, TILE, scale)
    planes = tile_memory(n_planes * height, TILE, scale).reshape(n_planes, height, TILE)
    codes = np.empty(height * statistics.width[statistics.term == MINIMUM_OF_CODES].sum(), np.uint8)
    layered, projected, n_components = len(layers.function) > 0, len(matrix) > 0, len(out) // max(n, 1)
    responses = tile_memory(height if projected else 0, m, scale)
    for task in tasks(counter, n_tasks):
        top, bottom = task * height, min(n, (task + 1) * height)
        if looks and not own_numbers(own, places, top, bottom, found, numbers, scale):
            give_up(counter, n_tasks)
            break
        _encode_rows(statistics, places, top, bottom, codes, scale)
        target = np.intp(responses.ctypes.data) if projected else np.intp(out.ctypes.data) + size * top * m
        for left in range(0, m, TILE):
            n_columns = min(TILE, m - left)
            _sum_up(statistics, places, codes, top, bottom, left, n_columns, m, planes, scale)
            at_once = TILE // n_columns
            for i in range(top, bottom, at_once):
                n_rows = min(at_once, bottom - i)
                _elementary_tile(planes, kernels, numbers, top, i, n_rows, left, n_columns, values)
                if layered:
                    result = _network_tile(layers, values, spare)
                    for row in range(n_rows):
                        to = target + size * ((i + row - top) * m + left)
                        tiles.scale_to(result + size * row * n_columns, to, n_columns, scale)
                else:
                    for kernel in range(n_kernels):
                        for row in range(n_rows):
                            start = np.intp(values.ctypes.data) + size * (kernel * TILE + row * n_columns)
                            to = np.intp(out.ctypes.data) + size * ((kernel * n + i + row) * m + left)
                            tiles.scale_to(start, to, n_columns, one_like(scale))
        if projected:
            place = np.intp(planes.ctypes.data)  # of which nothing is needed any more
            for left in range(0, n_components, TILE):
                panel = np.intp(matrix.ctypes.data) + size * left * m
                add_panel(PRODUCT, target, panel, place, bottom - top, m, scale)
                for row in range(bottom - top):
                    to = np.intp(out.ctypes.data) + size * ((top + row) * n_components + left)
                    width = min(TILE, n_components - left)
                    tiles.scale_to(place + size * row * TILE, to, width, one_like(scale))


@compiled
def _fill(counter: Any, n_tasks: Any, values: Any, layers: Any, out: Any) -> Any:
    widest, n_pairs, one = layers.widths.max(), len(out), one_like(layers.weights[0])
    tile, spare = tile_memory(widest, TILE, one), tile_memory(widest, TILE, one)
    for task in tasks(counter, n_tasks):
        for first in range(task * PAIRS_OF_A_TASK, min(n_pairs, (task + 1) * PAIRS_OF_A_TASK), TILE):
            n_columns = min(TILE, n_pairs - first)
            load_tile(values, first, n_columns, tile)
            result = _network_tile(layers, tile, spare)
            tiles.scale_to(result, np.intp(out.ctypes.data) + out.itemsize * first, n_columns, one)


@njit
def load_tile(values: Any, first: Any, count: Any, tile: Any) -> Any:
    """Columns first, first + 1, ... of values into the first columns of the tile."""
    size, one = tile.itemsize, one_like(tile[0, 0])
    for row in range(len(values)):
        start = np.intp(values.ctypes.data) + size * (row * values.shape[1] + first)
        tiles.scale_to(start, np.intp(tile.ctypes.data) + size * row * tile.shape[1], count, one)
