"""Gradients of a network with respect to its weights, summed over pairs.

Backpropagation tile by tile: nothing is kept from an evaluation, a tile's units are computed again, used and forgotten.
For a pair, six operations per weight and about twenty per unit. A tile's sums are in float32, those over tiles in
float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit, prange

from gramless.engine.cpu import tiles
from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.network import activate, load_tile, multiply, tile_memory
from gramless.engine.cpu.packing import Numbers, check_floats, pack_derivatives, pack_layers
from gramless.engine.cpu.pair_tiles import Term, add_block
from gramless.engine.cpu.threads import threads_of_torch
from gramless.engine.program import DenseLayer, Function

WIDTH = 256  # pairs of a tile: enough for the sums over them to be long, few enough for the second-level cache

_PRODUCT = int(Term.PRODUCT)
_IDENTITY, _TANH, _SINH, _EXP, _POLYNOMIAL = (int(function) for function in Function)


def backward(values: Numbers, slopes: Numbers, layers: Sequence[DenseLayer]) -> list[np.ndarray]:
    """Gradients of sum_p slopes_p network(values[:, p]) with respect to every layer's weights, as float64 arrays.

    values (n_kernels, n_pairs) and slopes (n_pairs,) : C-contiguous float32

    Pairs are divided among as many parts as there are threads: for one number of threads, results are reproducible to
    the bit.
    """
    values, slopes = np.asarray(values), np.asarray(slopes)
    check_floats(values, slopes)
    assert slopes.shape == values.shape[1:], "values and slopes are of different pairs"
    packed = pack_layers(layers, len(values))
    assert packed.widths[-1] == 1, "the last layer must have one unit"
    with threads_of_torch() as n_parts:
        totals = np.zeros((n_parts, packed.weights.size))
        _backward(values, slopes, packed, pack_derivatives(layers), totals)
    gradient = totals.sum(0)
    parts = np.split(gradient, packed.first_weight[1:])
    return [part.reshape(tuple(layer.weights.shape)) for part, layer in zip(parts, layers, strict=True)]


@compiled
def _backward(values: Any, slopes: Any, layers: Any, derivatives: Any, totals: Any) -> Any:
    n_pairs, n_parts = len(slopes), len(totals)
    n_tiles = (n_pairs + WIDTH - 1) // WIDTH
    n_units = layers.widths.sum()
    for part in prange(n_parts):
        # Rows: the inputs, then the units of every layer.
        outputs, rates, errors = tile_memory(n_units, WIDTH), tile_memory(n_units, WIDTH), tile_memory(n_units, WIDTH)
        gradient = np.empty(totals.shape[1], np.float32)
        for tile in range(part * n_tiles // n_parts, (part + 1) * n_tiles // n_parts):
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
    inputs = 0
    for layer in range(len(layers.function)):
        n_inputs, n_units = layers.widths[layer], layers.widths[layer + 1]
        units = inputs + n_inputs
        weights = np.intp(layers.weights.ctypes.data) + 4 * layers.first_weight[layer]
        out, rate = _row(outputs, units), _row(rates, units)
        multiply(weights, n_units, n_inputs, _row(outputs, inputs), out, WIDTH)
        if layers.function[layer] == _POLYNOMIAL:
            tiles.scale_to(out, rate, n_units * WIDTH, np.float32(1.0))
        activate(layers, layer, out, n_units * WIDTH)
        _rate(layers.function[layer], derivatives, layer, out, rate, n_units * WIDTH)
        inputs = units


@njit
def _rate(function: Any, derivatives: Any, layer: Any, outputs: Any, rates: Any, count: Any) -> Any:
    """g' from g, or for a polynomial from the argument, which is then in rates."""
    if function == _TANH:
        tiles.tanh_rate(outputs, rates, count)
    elif function == _SINH:
        tiles.sinh_rate(outputs, rates, count)
    elif function == _EXP:
        tiles.scale_to(outputs, rates, count, np.float32(1.0))
    elif function == _POLYNOMIAL:
        first, end = derivatives.first_coefficient[layer], derivatives.first_coefficient[layer + 1]
        tiles.polynomial(rates, count, np.intp(derivatives.coefficients.ctypes.data) + 4 * first, end - first)


@njit
def _backward_tile(layers: Any, derivatives: Any, outputs: Any, rates: Any, errors: Any, gradient: Any) -> Any:
    """The tile's gradient, from the slopes in the last row of errors: one layer back after the other."""
    units = len(outputs) - 1
    for layer in range(len(layers.function) - 1, -1, -1):
        n_inputs, n_units = layers.widths[layer], layers.widths[layer + 1]
        inputs = units - n_inputs
        if layers.function[layer] != _IDENTITY:
            tiles.multiply_by(_row(rates, units), _row(errors, units), n_units * WIDTH)
        first = layers.first_weight[layer]
        block = gradient[first : first + n_units * n_inputs].reshape(n_units, n_inputs)
        add_block(_PRODUCT, errors[units : units + n_units], outputs[inputs:units], block, 0, n_units, 0, n_inputs)
        if layer > 0:
            weights = np.intp(derivatives.transposed.ctypes.data) + 4 * first
            multiply(weights, n_inputs, n_units, _row(errors, units), _row(errors, inputs), WIDTH)
        units = inputs


@njit
def _row(tile: Any, row: Any) -> Any:
    return np.intp(tile.ctypes.data) + 4 * row * WIDTH
