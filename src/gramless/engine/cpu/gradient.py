"""Gradients of a network with respect to its weights, summed over pairs.

Backpropagation tile by tile: nothing is kept from an evaluation, a tile's units are computed again, used and forgotten.
For a pair, six operations per weight and about twenty per unit. A tile's sums are in the type of the values, those over
tiles in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from gramless.engine.cpu import tiles
from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.network import activate, load_tile, multiply, tile_memory
from gramless.engine.cpu.packing import Array, check_floats, pack_derivatives, pack_layers
from gramless.engine.cpu.pair_tiles import PRODUCT, add_block
from gramless.engine.cpu.threads import run, tasks
from gramless.engine.cpu.vectors import one_like, size_of
from gramless.engine.program import DenseLayer, Function

WIDTH = 256  # pairs of a tile: enough for the sums over them to be long, few enough for the second-level cache
PARTS = 64  # of the pairs, each with sums of its own, which are added up in one order

_IDENTITY, _TANH, _SINH, _EXP, _POLYNOMIAL = (int(function) for function in Function)


def network_gradients(values: Array, slopes: Array, layers: Sequence[DenseLayer]) -> list[np.ndarray]:
    """Gradients of sum_p slopes_p network(values[:, p]) with respect to every layer's weights, as float64 arrays.

    values (n_kernels, n_pairs) and slopes (n_pairs,) : C-contiguous, both float32 or both float64

    The same to the bit for any number of threads.
    """
    values, slopes = np.asarray(values), np.asarray(slopes)
    check_floats(values, slopes)
    assert slopes.shape == values.shape[1:], "values and slopes are of different pairs"
    packed, derivatives = pack_layers(layers, len(values), values.dtype), pack_derivatives(layers, values.dtype)
    totals = np.zeros((min(PARTS, -(-len(slopes) // WIDTH)), packed.weights.size))
    run(_add_gradients, len(totals), values, slopes, packed, derivatives, totals)
    gradient = totals.sum(0)
    parts = np.split(gradient, packed.first_weight[1:])
    return [part.reshape(tuple(layer.weights.shape)) for part, layer in zip(parts, layers, strict=True)]


@compiled
def _add_gradients(
    counter: Any, n_tasks: Any, values: Any, slopes: Any, layers: Any, derivatives: Any, totals: Any
) -> Any:
    n_pairs, zero = len(slopes), layers.weights[0]
    n_tiles = (n_pairs + WIDTH - 1) // WIDTH
    n_units = layers.widths.sum()
    # Rows: the inputs, then the units of every layer.
    outputs, rates = tile_memory(n_units, WIDTH, zero), tile_memory(n_units, WIDTH, zero)
    errors, gradient = tile_memory(n_units, WIDTH, zero), np.empty_like(layers.weights)
    for part in tasks(counter, n_tasks):
        for tile in range(part * n_tiles // n_tasks, (part + 1) * n_tiles // n_tasks):
            first = tile * WIDTH
            count = min(WIDTH, n_pairs - first)
            load_tile(values, first, count, outputs)
            _forward_tile(layers, derivatives, outputs, rates)
            errors[n_units - 1, :] = 0.0  # pairs beyond the last one have no slope
            errors[n_units - 1, :count] = slopes[first : first + count]
            _backward_tile(layers, derivatives, outputs, rates, errors, gradient)
            for weight in range(len(gradient)):
                totals[part, weight] += gradient[weight]


@njit
def _forward_tile(layers: Any, derivatives: Any, outputs: Any, rates: Any) -> Any:
    """Outputs of all units from those of the inputs, and the rates at which they change with what they sum."""
    inputs, size, zero = 0, layers.weights.itemsize, layers.weights[0]
    for layer in range(len(layers.function)):
        n_inputs, n_units = layers.widths[layer], layers.widths[layer + 1]
        units = inputs + n_inputs
        weights = np.intp(layers.weights.ctypes.data) + size * layers.first_weight[layer]
        out, rate = _row(outputs, units), _row(rates, units)
        multiply(weights, n_units, n_inputs, _row(outputs, inputs), out, WIDTH, zero)
        if layers.function[layer] == _POLYNOMIAL:
            tiles.scale_to(out, rate, n_units * WIDTH, one_like(zero))
        activate(layers, layer, out, n_units * WIDTH)
        _rate(layers.function[layer], derivatives, layer, out, rate, n_units * WIDTH)
        inputs = units


@njit
def _rate(function: Any, derivatives: Any, layer: Any, outputs: Any, rates: Any, count: Any) -> Any:
    """g' from g, or for a polynomial from the argument, which is then in rates."""
    zero = derivatives.transposed[0]
    if function == _TANH:
        tiles.tanh_rate(outputs, rates, count, zero)
    elif function == _SINH:
        tiles.sinh_rate(outputs, rates, count, zero)
    elif function == _EXP:
        tiles.scale_to(outputs, rates, count, one_like(zero))
    elif function == _POLYNOMIAL:
        first, end = derivatives.first_coefficient[layer], derivatives.first_coefficient[layer + 1]
        at = np.intp(derivatives.coefficients.ctypes.data) + size_of(zero) * first
        tiles.polynomial(rates, count, at, end - first, zero)


@njit
def _backward_tile(layers: Any, derivatives: Any, outputs: Any, rates: Any, errors: Any, gradient: Any) -> Any:
    """The tile's gradient, from the slopes in the last row of errors: one layer back after the other."""
    units, size, zero = len(outputs) - 1, gradient.itemsize, layers.weights[0]
    for layer in range(len(layers.function) - 1, -1, -1):
        n_inputs, n_units = layers.widths[layer], layers.widths[layer + 1]
        inputs = units - n_inputs
        if layers.function[layer] != _IDENTITY:
            tiles.multiply_by(_row(rates, units), _row(errors, units), n_units * WIDTH, zero)
        first = layers.first_weight[layer]
        to = np.intp(gradient.ctypes.data) + size * first
        add_block(PRODUCT, _row(errors, units), _row(outputs, inputs), to, n_units, n_inputs, WIDTH, n_inputs, zero)
        if layer > 0:
            weights = np.intp(derivatives.transposed.ctypes.data) + size * first
            multiply(weights, n_inputs, n_units, _row(errors, units), _row(errors, inputs), WIDTH, zero)
        units = inputs


@njit
def _row(tile: Any, row: Any) -> Any:
    return np.intp(tile.ctypes.data) + tile.itemsize * row * WIDTH
