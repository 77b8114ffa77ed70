"""The layers inside the Triton kernels: products with blocks of weights on the tensor cores, then activations.

A tile's values are a tuple of pieces, (pairs, width) each, as `structure` cut them.
"""

from __future__ import annotations

import triton
import triton.language as tl

from gramless.engine.cuda.functions import activate
from gramless.engine.cuda.structure import count, item


@triton.jit
def appended(pieces, piece):  # type: ignore[no-untyped-def]
    return pieces + (piece,)  # noqa: RUF005 - the compiler knows no stars


@triton.jit
def _high(x):  # type: ignore[no-untyped-def]
    """x rounded to the 11 bits that the tensor cores read of a float32."""
    return ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def multiply_add(a, b, total, PRECISION: tl.constexpr):  # type: ignore[no-untyped-def]
    """total + a b. In "float32" as three products of parts, a = high + low, which keeps 22 bits."""
    if PRECISION == "float32":
        a_high, b_high = _high(a), _high(b)
        total = tl.dot(a - a_high, b_high, total, input_precision="tf32")
        total = tl.dot(a_high, b - b_high, total, input_precision="tf32")
        return tl.dot(a_high, b_high, total, input_precision="tf32")
    elif PRECISION == "tf32":  # noqa: RET505
        return tl.dot(_high(a), _high(b), total, input_precision="tf32")
    else:
        return tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), total)


@triton.jit
def load_values(values, pair, n_kernels, n_pairs, PIECES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Columns of given values (n_kernels, n_pairs) as pieces (first kernel, width), transposed; padding is 0."""
    loaded = ()
    for q in tl.static_range(count(PIECES)):
        kernel = item(PIECES, q, 0) + tl.arange(0, item(PIECES, q, 1))
        pointers = values + kernel.to(tl.int64)[None, :] * n_pairs + pair[:, None]
        piece = tl.load(pointers, (kernel < n_kernels)[None, :] & (pair < n_pairs)[:, None], 0.0)
        loaded = appended(loaded, piece)
    return loaded


@triton.jit
def block_pointers(weights, FIRST: tl.constexpr, INPUTS: tl.constexpr, UNITS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Of the block of weights (INPUTS, UNITS) that begins at FIRST."""
    return weights + FIRST + tl.arange(0, INPUTS)[:, None] * UNITS + tl.arange(0, UNITS)[None, :]


@triton.jit
def weighted_sums(  # type: ignore[no-untyped-def]
    values, weights, LAYERS: tl.constexpr, DEPTH: tl.constexpr, PIECE: tl.constexpr, PRECISION: tl.constexpr
):
    """W k for one piece of a hidden layer's units: (pairs, width)."""
    WIDTH: tl.constexpr = item(LAYERS, DEPTH, 0, PIECE)
    total = tl.zeros((values[0].shape[0], WIDTH), tl.float32)
    for q in tl.static_range(len(values)):
        block = tl.load(block_pointers(weights, item(LAYERS, DEPTH, 1, PIECE, q), values[q].shape[1], WIDTH))
        total = multiply_add(values[q], block, total, PRECISION)
    return total


@triton.jit
def output_weights(weights, LAYERS: tl.constexpr, PIECE: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """The last layer's weights of one piece of its inputs: (width,)."""
    return tl.load(weights + item(LAYERS, count(LAYERS) - 1, 1, 0, PIECE) + tl.arange(0, WIDTH))


@triton.jit
def output_sum(values, weights, LAYERS: tl.constexpr):  # type: ignore[no-untyped-def]
    """w k of the last layer, which has one unit, in plain float32: (pairs,)."""
    total = tl.zeros((values[0].shape[0],), tl.float32)
    for q in tl.static_range(len(values)):
        total += tl.sum(values[q] * output_weights(weights, LAYERS, q, values[q].shape[1])[None, :], 1)
    return total


@triton.jit
def network(values, weights, LAYERS: tl.constexpr, PRECISION: tl.constexpr):  # type: ignore[no-untyped-def]
    """The network's output: (pairs,)."""
    OUTPUT: tl.constexpr = count(LAYERS) - 1
    for depth in tl.static_range(OUTPUT):
        units = ()
        for piece in tl.static_range(count(LAYERS, depth, 0)):
            total = weighted_sums(values, weights, LAYERS, depth, piece, PRECISION)
            units = appended(units, activate(total, item(LAYERS, depth, 2), item(LAYERS, depth, 3)))
        values = units
    return activate(output_sum(values, weights, LAYERS), item(LAYERS, OUTPUT, 2), item(LAYERS, OUTPUT, 3))
