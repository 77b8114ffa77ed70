"""Statistics of all pairs of rows: sums of minima, city-block and chi-square distances; n m d terms each.

Pairs are taken in blocks of which x's and z's parts stay in the second-level cache while the register tiles run over
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.packing import Numbers
from gramless.engine.cpu.pair_tiles import COLUMNS, ROWS, Term, add_block
from gramless.engine.cpu.threads import threads_of_torch

BLOCK_ROWS, BLOCK_COLUMNS = 8 * ROWS, 16 * COLUMNS


def minimum_sums(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d min(x_id, z_jd), for C-contiguous float32 arrays (n, d), (m, d) and (n, m)."""
    _run(_minimum_sums, x, z, out, np.float32, np.float32)


def city_block_distances(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d |x_id - z_jd|, for C-contiguous float32 arrays (n, d), (m, d) and (n, m)."""
    _run(_city_block_distances, x, z, out, np.float32, np.float32)


def chi_square_distances(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d (x_id - z_jd)^2 / (x_id + z_jd) of non-negative numbers, with 0 / 0 = 0; arrays as above."""
    _run(_chi_square_distances, x, z, out, np.float32, np.float32)


def minimum_sums_of_codes(x: Numbers, z: Numbers, out: Numbers) -> None:
    """out[i, j] = sum_d min(x_id, z_jd) of codes: C-contiguous uint8 arrays (n, d) and (m, d), int32 (n, m). Exact."""
    _run(_minimum_sums_of_codes, x, z, out, np.uint8, np.int32)


def _run(loop: Callable[..., Any], x: Numbers, z: Numbers, out: Numbers, given: type, result: type) -> None:
    x, z, out = np.asarray(x), np.asarray(z), np.asarray(out)
    assert x.dtype == z.dtype == given, "x and z have the wrong type"
    assert out.dtype == result, "out has the wrong type"
    assert (x.shape[1], out.shape) == (z.shape[1], (len(x), len(z))), "shapes do not fit together"
    assert all(array.flags.c_contiguous for array in (x, z, out)), "arrays must be C-contiguous"
    with threads_of_torch():
        loop(x, z, out)


def _loop_over_pairs(term: int) -> Callable[..., Any]:
    """The loop over all blocks; a function for each term, which is a constant in the code of its tiles."""

    @compiled
    def loop(x: Any, z: Any, out: Any) -> Any:
        n, m = out.shape
        n_columns = (m + BLOCK_COLUMNS - 1) // BLOCK_COLUMNS
        n_rows = (n + BLOCK_ROWS - 1) // BLOCK_ROWS
        for task in prange(n_rows * n_columns):
            i = np.int64(task) // n_columns * BLOCK_ROWS
            j = np.int64(task) % n_columns * BLOCK_COLUMNS
            add_block(term, x, z, out, i, min(n, i + BLOCK_ROWS), j, min(m, j + BLOCK_COLUMNS))

    return loop


_minimum_sums = _loop_over_pairs(int(Term.MINIMUM))
_city_block_distances = _loop_over_pairs(int(Term.CITY_BLOCK))
_chi_square_distances = _loop_over_pairs(int(Term.CHI_SQUARE))
_minimum_sums_of_codes = _loop_over_pairs(int(Term.MINIMUM_OF_CODES))
