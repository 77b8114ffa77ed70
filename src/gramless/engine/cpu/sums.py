"""Statistics of all pairs of rows, n m d terms each: sums of minima, of numbers or of 8-bit codes, and distances.

Pairs are taken in blocks of which x's and z's parts stay in the second-level cache while the register tiles run over
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.packing import Array
from gramless.engine.cpu.pair_tiles import COLUMNS, ROWS, add_block
from gramless.engine.cpu.threads import run, tasks
from gramless.engine.program import CODE_LEVELS, Term

BLOCK_ROWS, BLOCK_COLUMNS = 8 * ROWS, 16 * COLUMNS


def feature_sums(term: Term, x: Array, z: Array, out: Array) -> None:
    """out[i, j] = sum_d term(x_id, z_jd), for C-contiguous arrays (n, d), (m, d) and (n, m).

    All of them float32, or all float64, and none of them negative but for a city block; or codes, uint8, whose minima
    have exact sums in int32. In a chi-square distance x_id + z_jd counts as the least normal number of the type where
    it is less: 0 / 0 = 0.
    """
    x, z, out = np.asarray(x), np.asarray(z), np.asarray(out)
    codes = term is Term.MINIMUM_OF_CODES
    assert x.dtype == z.dtype, "x and z are of different types"
    assert (x.dtype.type, out.dtype.type) in (CODES if codes else FLOATS), "x, z and out have the wrong types"
    assert (x.shape[1], out.shape) == (z.shape[1], (len(x), len(z))), "shapes do not fit together"
    assert all(array.flags.c_contiguous for array in (x, z, out)), "arrays must be C-contiguous"
    n_rows, n_columns = -(-len(x) // BLOCK_ROWS), -(-len(z) // BLOCK_COLUMNS)
    zero = np.float32(0) if codes else x.dtype.type(0)
    run(_LOOPS[term], n_rows * n_columns, n_columns, x, z, out, zero)


FLOATS: set[Any] = {(np.float32, np.float32), (np.float64, np.float64)}  # types of x and of out
CODES: set[Any] = {(np.uint8, np.int32)}


def _loop_over_pairs(term: int) -> Callable[..., Any]:
    """The loop over all blocks; a function for each term, which is a constant in the code of its tiles."""

    @compiled
    def loop(counter: Any, n_tasks: Any, n_columns: Any, x: Any, z: Any, out: Any, zero: Any) -> Any:
        (n, d), m = x.shape, len(z)
        for task in tasks(counter, n_tasks):
            i, j = task // n_columns * BLOCK_ROWS, task % n_columns * BLOCK_COLUMNS
            row, column = np.intp(x.ctypes.data) + i * d * x.itemsize, np.intp(z.ctypes.data) + j * d * z.itemsize
            pair = np.intp(out.ctypes.data) + (i * m + j) * out.itemsize
            add_block(term, row, column, pair, min(BLOCK_ROWS, n - i), min(BLOCK_COLUMNS, m - j), d, m, zero)

    return loop


_LOOPS = {
    term: _loop_over_pairs(int(term))
    for term in (Term.MINIMUM, Term.CITY_BLOCK, Term.CHI_SQUARE, Term.MINIMUM_OF_CODES)
}


def encode(x: Array, step: float) -> np.ndarray:
    """round(x / step), at most 255, of C-contiguous float32 x (n, d): uint8 (n, d)."""
    x = np.asarray(x)
    codes = np.empty(x.shape, dtype=np.uint8)
    _encode(x.ravel(), np.float32(1.0 / step), codes.ravel())
    return codes


@compiled
def _encode(x: Any, per_step: Any, codes: Any) -> Any:
    encode_into(x, per_step, codes)


@njit
def encode_into(x: Any, per_step: Any, codes: Any) -> Any:
    top, half = np.float32(CODE_LEVELS), np.float32(0.5)
    for k in range(len(x)):
        codes[k] = np.uint8(min(x[k] * per_step, top) + half)
