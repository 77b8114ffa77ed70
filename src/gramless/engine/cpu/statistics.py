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
from gramless.engine.cpu.packing import Numbers
from gramless.engine.cpu.pair_tiles import (
    CHI_SQUARE,
    CITY_BLOCK,
    COLUMNS,
    MINIMUM,
    MINIMUM_OF_CODES,
    ROWS,
    add_block,
)
from gramless.engine.cpu.threads import run, tasks
from gramless.engine.program import CODE_LEVELS

BLOCK_ROWS, BLOCK_COLUMNS = 8 * ROWS, 16 * COLUMNS


def minimum_sums(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d min(x_id, z_jd) of non-negative numbers, for C-contiguous arrays (n, d), (m, d) and (n, m).

    All of them float32, or all float64.
    """
    _run(_minimum_sums, x, z, out)


def city_block_distances(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d |x_id - z_jd|; arrays as above."""
    _run(_city_block_distances, x, z, out)


def chi_square_distances(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d (x_id - z_jd)^2 / (x_id + z_jd) of non-negative numbers; arrays as above.

    x_id + z_jd counts as the least normal number of the type where it is less: 0 / 0 = 0.
    """
    _run(_chi_square_distances, x, z, out)


def minimum_sums_of_codes(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d min(x_id, z_jd) of codes: C-contiguous uint8 arrays (n, d) and (m, d), int32 (n, m). Exact."""
    _run(_minimum_sums_of_codes, x, z, out, {(np.uint8, np.int32): np.float32})


FLOATS: dict[Any, Any] = {(np.float32, np.float32): np.float32, (np.float64, np.float64): np.float64}


def _run(loop: Callable[..., Any], x: Numbers, z: Numbers, out: Numbers, allowed: dict[Any, Any] = FLOATS) -> None:
    """allowed : types of x and of out, and the type of the sums"""
    x, z, out = np.asarray(x), np.asarray(z), np.asarray(out)
    assert x.dtype == z.dtype, "x and z are of different types"
    assert (x.dtype.type, out.dtype.type) in allowed, "x, z and out have the wrong types"
    assert (x.shape[1], out.shape) == (z.shape[1], (len(x), len(z))), "shapes do not fit together"
    assert all(array.flags.c_contiguous for array in (x, z, out)), "arrays must be C-contiguous"
    n_rows, n_columns = -(-len(x) // BLOCK_ROWS), -(-len(z) // BLOCK_COLUMNS)
    run(loop, n_rows * n_columns, n_columns, x, z, out, allowed[x.dtype.type, out.dtype.type](0))


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


_minimum_sums = _loop_over_pairs(MINIMUM)
_city_block_distances = _loop_over_pairs(CITY_BLOCK)
_chi_square_distances = _loop_over_pairs(CHI_SQUARE)
_minimum_sums_of_codes = _loop_over_pairs(MINIMUM_OF_CODES)


def encode(x: Numbers, step: float) -> np.ndarray:
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
