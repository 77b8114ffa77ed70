"""The program of an evaluation as flat arrays, the form that compiled code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from gramless.engine.program import DenseLayer, Elementary, Sides

Numbers = np.ndarray | Tensor
"""Arrays, or tensors on the CPU, of which np.asarray is a view."""


class Kernels(NamedTuple):
    """Elementary kernels, with the numbers of the rows' and the columns' samples: see `program`."""

    operation: np.ndarray  # (n_kernels,) int32
    plane: np.ndarray  # (n_kernels,) int32
    exponent: np.ndarray  # (n_kernels,) float32
    slope: np.ndarray  # (n_kernels,) float32
    row_shift: np.ndarray  # (n_kernels, n) float32
    row_gain: np.ndarray
    row_factor: np.ndarray
    column_shift: np.ndarray  # (n_kernels, m) float32
    column_gain: np.ndarray
    column_factor: np.ndarray


class Layers(NamedTuple):
    """Layers one after the other; a layer has widths[l] inputs and widths[l + 1] units."""

    widths: np.ndarray  # (n_layers + 1,) int64
    weights: np.ndarray  # all weights, float32, (n_units, n_inputs) of each layer flattened
    first_weight: np.ndarray  # (n_layers,) int64
    function: np.ndarray  # (n_layers,) int32
    coefficients: np.ndarray  # all coefficients, float32
    first_coefficient: np.ndarray  # (n_layers + 1,) int64


class Derivatives(NamedTuple):
    """What backpropagation needs besides the layers."""

    transposed: np.ndarray  # all weights, float32, (n_inputs, n_units) of each layer flattened
    coefficients: np.ndarray  # of the polynomials' derivatives, float32
    first_coefficient: np.ndarray  # (n_layers + 1,) int64


def pack_kernels(elementary: Elementary, rows: Sides, columns: Sides) -> Kernels:
    samples = [_floats(numbers) for side in (rows, columns) for numbers in (side.shift, side.gain, side.factor)]
    operation, plane = (np.ascontiguousarray(numbers, np.int32) for numbers in (elementary.operation, elementary.plane))
    exponent, slope = (np.ascontiguousarray(numbers, np.float32) for numbers in (elementary.exponent, elementary.slope))
    return Kernels(operation, plane, exponent, slope, *samples)


def pack_layers(layers: Sequence[DenseLayer], n_inputs: int) -> Layers:
    weights = [_floats(layer.weights) for layer in layers]
    for matrix, width in zip(weights, [n_inputs, *(len(matrix) for matrix in weights)], strict=False):
        assert matrix.shape[1] == width, f"a layer of {matrix.shape[1]} inputs is given {width}"
    coefficients = [np.asarray(layer.coefficients, np.float32) for layer in layers]
    return Layers(
        np.array([n_inputs, *(len(matrix) for matrix in weights)], np.int64),
        np.concatenate([matrix.ravel() for matrix in weights]),
        _starts(weights)[:-1],
        np.array([layer.function for layer in layers], np.int32),
        np.concatenate(coefficients),
        _starts(coefficients),
    )


def pack_derivatives(layers: Sequence[DenseLayer]) -> Derivatives:
    coefficients = [np.polynomial.Polynomial(layer.coefficients or (0.0,)).deriv().coef for layer in layers]
    return Derivatives(
        np.concatenate([_floats(layer.weights).T.ravel() for layer in layers]),
        np.concatenate(coefficients).astype(np.float32),
        _starts(coefficients),
    )


def _starts(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.cumsum([0, *(array.size for array in arrays)], dtype=np.int64)


def check_floats(*arrays: np.ndarray) -> None:
    for array in arrays:
        assert array.dtype == np.float32, f"arrays must be float32, not {array.dtype}"
        assert array.flags.c_contiguous, "arrays must be C-contiguous"


def _floats(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().numpy(), np.float32)
