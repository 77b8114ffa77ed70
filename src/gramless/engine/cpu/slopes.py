"""Gradients of sums over features, T_ij = sum_d t(x_id, z_jd), with respect to z: n m d updates each.

A tile of COLUMNS x VECTORS vectors of z and of totals stays in registers while the rows pass: a row is VECTORS loads
and COLUMNS numbers of the cotangent for COLUMNS VECTORS vectors of work. A task owns columns and features of the
result, so that it is the same to the bit for any number of threads. For a run of rows it copies x and the cotangent
into the order in which the tiles read them. A run's totals start at zero, which keeps the rounding error below
(RUN + n / RUN + 8) 2^-24 sum_i |c_ij| max |t'|.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import literally, njit
from numba.core import cgutils

from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.packing import Array, check_floats
from gramless.engine.cpu.target import LANES, LONG_VECTORS
from gramless.engine.cpu.threads import run, tasks
from gramless.engine.cpu.vectors import Constant, VectorCode, integer, vector_function
from gramless.engine.program import Term

COLUMNS, VECTORS = (6, 2) if LONG_VECTORS else (3, 2)  # twice their product, in 32 or 16 vector registers
WIDTH = VECTORS * LANES  # features of a tile
RUN = 128  # rows; with the features of a tile, in the nearest cache
BLOCK_COLUMNS, BLOCK_FEATURES = 16 * COLUMNS, 8 * WIDTH  # of a task, in the second-level cache


def feature_slopes(term: Term, x: Array, z: Array, cotangent: Array, out: Array) -> None:
    """out[j, d] = sum_i cotangent_ij t', the slope of the term t at z_jd.

    Minimum: 1 where z_jd < x_id, 1/2 where they are equal, else 0. City block: sign(z_jd - x_id). Chi-square:
    (z_jd - x_id) (3 x_id + z_jd) / (x_id + z_jd)^2 of non-negative numbers, with 0 / 0 = 0. Arrays are C-contiguous
    float32: (n, d), (m, d), (n, m) and (m, d).
    """
    x, z, cotangent, out = (np.asarray(array) for array in (x, z, cotangent, out))
    check_floats(x, z, cotangent, out)
    assert x.dtype == np.float32, f"arrays must be float32, not {x.dtype}"
    assert (cotangent.shape, x.shape[1], out.shape) == ((len(x), len(z)), z.shape[1], z.shape), "shapes do not fit"
    n_columns, n_features = -(-len(z) // BLOCK_COLUMNS), -(-z.shape[1] // BLOCK_FEATURES)
    run(_LOOPS[term], n_columns * n_features, n_columns, x, z, cotangent, out)


def _loop_over_columns(term: int) -> Callable[..., Any]:
    """The loop over all blocks; a function for each term, which is a constant in the code of its tiles."""

    @compiled
    def loop(counter: Any, n_tasks: Any, n_columns: Any, x: Any, z: Any, cotangent: Any, out: Any) -> Any:
        m, d = z.shape
        for task in tasks(counter, n_tasks):
            j, k = task % n_columns * BLOCK_COLUMNS, task // n_columns * BLOCK_FEATURES
            _fill_block(term, x, z, cotangent, out, j, min(m, j + BLOCK_COLUMNS), k, min(d, k + BLOCK_FEATURES))

    return loop


@njit
def _fill_block(term: Any, x: Any, z: Any, cotangent: Any, out: Any, j0: Any, j1: Any, k0: Any, k1: Any) -> Any:
    """out of columns j0..j1 and features k0..k1."""
    n, (m, d) = len(x), z.shape
    # Zeros beyond the last feature and column.
    rows = np.zeros(((k1 - k0 + WIDTH - 1) // WIDTH, RUN, WIDTH), np.float32)
    factors = np.zeros(((j1 - j0 + COLUMNS - 1) // COLUMNS, RUN, COLUMNS), np.float32)
    out[j0:j1, k0:k1] = 0.0
    for first in range(0, n, RUN):
        length = min(RUN, n - first)
        _copy_tiles(x, first, length, k0, k1, rows)
        _copy_tiles(cotangent, first, length, j0, j1, factors)
        for part in range(len(rows)):
            k = k0 + part * WIDTH
            row = np.intp(rows.ctypes.data) + 4 * part * RUN * WIDTH
            for tile in range(len(factors)):
                j = j0 + tile * COLUMNS
                factor = np.intp(factors.ctypes.data) + 4 * tile * RUN * COLUMNS
                place = 4 * (j * d + k)
                column, total = np.intp(z.ctypes.data) + place, np.intp(out.ctypes.data) + place
                _add_tile(literally(term), row, factor, column, total, length, d, m - j, d - k, np.float32(0.0))


@njit
def _copy_tiles(source: Any, first: Any, length: Any, start: Any, end: Any, tiles: Any) -> Any:
    """tiles[t, i, :] = what is at t-th place, as wide as a tile, in start..end of row first + i."""
    width = tiles.shape[2]
    for tile in range(len(tiles)):
        at = start + tile * width
        count = min(width, end - at)
        for i in range(length):
            for k in range(count):
                tiles[tile, i, k] = source[first + i, at + k]


@vector_function
def _add_tile(
    code: VectorCode,
    term: Constant,
    x: int,
    factors: int,
    z: int,
    out: int,
    length: int,
    stride: int,
    n_columns: int,
    n_features: int,
    zero: float,
) -> None:
    """out[c, k] += sum_i factors[i, c] term'(x[i, k], z[c, k]) for i < length, c < COLUMNS, k < WIDTH.

    x, factors, z, out : addresses; rows of x are WIDTH numbers apart, those of factors COLUMNS, of z and out `stride`
    n_columns, n_features : z and out have no more than these from here on
    """
    builder, (step, scale) = code.builder, _STEPS[Term(term)]
    tile = []  # of every vector: where it is, its mask, z, and its total
    for c in range(COLUMNS):
        exists = builder.icmp_signed("<", integer(c), n_columns)
        for v in range(VECTORS):
            left = builder.sub(n_features, integer(v * LANES))
            mask = code.first(builder.select(exists, left, integer(0)))
            place = builder.add(builder.mul(stride, integer(c)), integer(v * LANES))
            total = cgutils.alloca_once(builder, code.type)
            builder.store(code.constant(0.0), total)
            tile.append((place, mask, code.load(z, place, mask), total))
    with cgutils.for_range(builder, length) as loop:
        row = builder.mul(loop.index, integer(WIDTH))
        first_factor = builder.mul(loop.index, integer(COLUMNS))
        xs = [code.load(x, builder.add(row, integer(v * LANES))) for v in range(VECTORS)]
        for c in range(COLUMNS):
            factor = code.splat(code.load_scalar(factors, builder.add(first_factor, integer(c))))
            for v in range(VECTORS):
                _, _, column, total = tile[c * VECTORS + v]
                builder.store(step(code, builder.load(total), factor, xs[v], column), total)
    for place, mask, _, total in tile:
        before = code.load(out, place, mask)
        code.store(code.multiply_add(builder.load(total), code.constant(scale), before), out, place, mask)


def _minimum(code: VectorCode, total: Any, factor: Any, x: Any, z: Any) -> Any:
    """Twice the slope: added once where z < x, and once more where z <= x."""
    for relation in ("<", "<="):
        total = _where(code, relation, z, x, code.builder.fadd(total, factor), total)
    return total


def _city_block(code: VectorCode, total: Any, factor: Any, x: Any, z: Any) -> Any:
    total = _where(code, ">", z, x, code.builder.fadd(total, factor), total)
    return _where(code, "<", z, x, code.builder.fsub(total, factor), total)


def _where(code: VectorCode, relation: str, z: Any, x: Any, then: Any, otherwise: Any) -> Any:
    return code.builder.select(code.builder.fcmp_ordered(relation, z, x), then, otherwise)


def _chi_square(code: VectorCode, total: Any, factor: Any, x: Any, z: Any) -> Any:
    """u (2 - u), u = (z - x) / (z + x): no square that overflows, nothing that cancels where z is close to x."""
    builder = code.builder
    sum_ = builder.fadd(z, x)
    divisor = _where(code, "==", sum_, code.constant(0.0), code.constant(1.0), sum_)
    u = builder.fdiv(builder.fsub(z, x), divisor)
    return code.multiply_add(builder.fmul(factor, u), builder.fsub(code.constant(2.0), u), total)


# What a row adds to a total, and what the total is to be multiplied by.
_STEPS: dict[Term, tuple[Callable[..., Any], float]] = {
    Term.MINIMUM: (_minimum, 0.5),
    Term.CITY_BLOCK: (_city_block, 1.0),
    Term.CHI_SQUARE: (_chi_square, 1.0),
}

_LOOPS = {term: _loop_over_columns(int(term)) for term in _STEPS}
