"""The program of an evaluation as flat arrays, the form that compiled code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from gramless.engine.program import DenseLayer, Elementary

Array = np.ndarray | Tensor
"""Arrays, or tensors on the CPU, of which np.asarray is a view."""


class PairSums(NamedTuple):
    """One statistic of all pairs: which `program.Term` is summed over the features of rows and columns.

    The rows (n, width) are an operand of each evaluation, the columns lie at the address z, in panels (see `panels`);
    or the operand is the values (n, m) themselves, where they are GIVEN. Codes are made of the rows where the columns,
    (m, width), are codes, of this step.
    """

    source: int  # the number of the operand
    term: int
    width: int
    z: int = 0
    step: float = 0.0


class Statistics(NamedTuple):
    """The same of all planes."""

    source: np.ndarray  # (n_planes,) int64, as are
    term: np.ndarray
    width: np.ndarray
    z: np.ndarray
    step: np.ndarray  # (n_planes,) float64


class Kernels(NamedTuple):
    """Elementary kernels, with the numbers of the columns' samples: see `program`."""

    operation: np.ndarray  # (n_kernels,) int32
    plane: np.ndarray  # (n_kernels,) int32
    exponent: np.ndarray  # (n_kernels,)
    slope: np.ndarray  # (n_kernels,)
    columns: np.ndarray  # (3, n_kernels, m)


class Layers(NamedTuple):
    """Layers one after the other; a layer has widths[l] inputs and widths[l + 1] units."""

    widths: np.ndarray  # (n_layers + 1,) int64
    weights: np.ndarray  # all weights, (n_units, n_inputs) of each layer flattened
    first_weight: np.ndarray  # (n_layers,) int64
    function: np.ndarray  # (n_layers,) int32
    coefficients: np.ndarray  # all coefficients
    first_coefficient: np.ndarray  # (n_layers + 1,) int64


class Own(NamedTuple):
    """How the numbers of a row follow from its moments u, one entry per kernel: shift = a u + b, and, where `cosine`,
    gain = (slope u + offset)^(-1/2), or 0 where that is of 0; elsewhere 1, as are all factors."""

    source: np.ndarray  # (n_kernels, 2) int64: the view, and 0 for its sum or 1 for its squares
    a: np.ndarray
    b: np.ndarray
    cosine: np.ndarray  # bool
    slope: np.ndarray
    offset: np.ndarray
    largest: np.ndarray  # absolute value of a shift that is still exact
    widths: np.ndarray  # (n_views,) int64
    bounds: np.ndarray  # (n_views, 2): the least value that there may be, and the largest absolute one


class Packed(NamedTuple):
    """What of an evaluation is the same for all rows, besides the layers."""

    statistics: Statistics
    kernels: Kernels
    own: Own  # of no kernels where the rows' numbers are given


class Derivatives(NamedTuple):
    """What backpropagation needs besides the layers."""

    transposed: np.ndarray  # all weights, (n_inputs, n_units) of each layer flattened
    coefficients: np.ndarray  # of the polynomials' derivatives
    first_coefficient: np.ndarray  # (n_layers + 1,) int64


def pack_statistics(sums: Sequence[PairSums]) -> Statistics:
    """The columns must live as long as this is used."""
    source, term, width, z = np.array([plane[:4] for plane in sums], np.int64).reshape(-1, 4).T.copy()
    return Statistics(source, term, width, z, np.array([plane.step for plane in sums], float))


def pack_kernels(elementary: Elementary, columns: Tensor, dtype: Any) -> Kernels:
    operation, plane = (np.ascontiguousarray(numbers, np.int32) for numbers in (elementary.operation, elementary.plane))
    exponent, slope = (np.ascontiguousarray(numbers, dtype) for numbers in (elementary.exponent, elementary.slope))
    return Kernels(operation, plane, exponent, slope, _array(columns, dtype))


def pack_layers(layers: Sequence[DenseLayer], n_inputs: int, dtype: Any) -> Layers:
    weights = [_array(layer.weights, dtype) for layer in layers]
    for matrix, width in zip(weights, [n_inputs, *(len(matrix) for matrix in weights)], strict=False):
        assert matrix.shape[1] == width, f"a layer of {matrix.shape[1]} inputs is given {width}"
    assert len(weights[-1]) == 1, "the last layer must have one unit"
    coefficients = [np.asarray(layer.coefficients, dtype) for layer in layers]
    return Layers(
        np.array([n_inputs, *(len(matrix) for matrix in weights)], np.int64),
        np.concatenate([matrix.ravel() for matrix in weights]),
        _starts(weights)[:-1],
        np.array([layer.function for layer in layers], np.int32),
        np.concatenate(coefficients),
        _starts(coefficients),
    )


def no_layers(n_kernels: int, dtype: Any) -> Layers:
    """With these, elementary kernels are what comes out."""
    none, whole = np.empty(0, dtype), np.empty(0, np.int64)
    return Layers(np.array([n_kernels]), none, whole, whole.astype(np.int32), none, np.zeros(1, np.int64))


def no_kernels(dtype: Any) -> Own:
    none, whole = np.empty(0, dtype), np.empty(0, np.int64)
    return Own(whole.reshape(0, 2), none, none, none.astype(bool), none, none, none, whole, none.reshape(0, 2))


def pack_derivatives(layers: Sequence[DenseLayer], dtype: Any) -> Derivatives:
    coefficients = [np.polynomial.Polynomial(layer.coefficients or (0.0,)).deriv().coef for layer in layers]
    return Derivatives(
        np.concatenate([_array(layer.weights, dtype).T.ravel() for layer in layers]),
        np.concatenate(coefficients).astype(dtype),
        _starts(coefficients),
    )


def _starts(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.cumsum([0, *(array.size for array in arrays)], dtype=np.int64)


def addresses(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)


def check_floats(*arrays: np.ndarray) -> None:
    dtype = arrays[0].dtype
    assert dtype in (np.float32, np.float64), f"arrays must be float32 or float64, not {dtype}"
    for array in arrays:
        assert array.dtype is dtype or array.dtype == dtype, "arrays are of different types"
        assert array.flags.c_contiguous, "arrays must be C-contiguous"


def _array(tensor: Tensor, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().numpy(), dtype)
