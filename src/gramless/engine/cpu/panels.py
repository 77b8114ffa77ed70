"""Sums over d of a function of two numbers, for a few rows with TILE columns at once, kept in registers.

Columns lie in panels: (d, TILE) numbers, those of a feature side by side. A vector is of as many columns, and a number
of a row is the same in all lanes: R rows and C vectors of columns are R + C loads for R C vectors of work, and the
totals are what is stored. `pair_tiles` takes columns as they are, and has to add up the lanes of every total in the
end, which for a few hundred features costs a fifth of the products. A total adds at most SPAN numbers before it joins
the others: the rounding error of a sum of d non-negative numbers is below (SPAN + d / SPAN) 2^-24 of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import literally, njit
from numba.core import cgutils

from gramless.engine.cpu.pair_tiles import STEPS
from gramless.engine.cpu.target import LANES, LONG_VECTORS
from gramless.engine.cpu.tiles import TILE
from gramless.engine.cpu.vectors import Constant, VectorCode, integer, size_of, vector_function
from gramless.engine.program import Term

ROWS = 6
VECTORS = 4 if LONG_VECTORS else 2  # of columns: ROWS times as many totals, in 32 or in 16 vector registers
SPAN = 128
LINE = 64  # bytes in a line of the cache


def in_panels(z: np.ndarray) -> np.ndarray:
    """Columns z (m, d), one in each row, as panels (n_panels, d, TILE), with zeros after the last, at a cache line."""
    m, d = z.shape
    n_panels = -(-m // TILE)
    count, line = n_panels * d * TILE, LINE // z.itemsize
    memory = np.zeros(count + line, z.dtype)
    skip = -(memory.ctypes.data // z.itemsize) % line
    panels = memory[skip : skip + count].reshape(n_panels, d, TILE)
    for number, panel in enumerate(panels):
        some = z[number * TILE : (number + 1) * TILE]
        panel[:, : len(some)] = some.T
    return panels


@njit
def add_panel(term: Any, x: Any, z: Any, out: Any, n_rows: Any, d: Any, zero: Any) -> Any:
    """out[i, j] = sum_d term(x[i, d], z[d, j]) of so many rows i and TILE columns j, from these addresses on.

    All C-contiguous, and of the type of `zero`. Rows that fill no tile are taken one by one.
    """
    size = size_of(zero)
    width = VECTORS * LANES * 4 // size
    for k in range(0, d, SPAN):
        length, go_on = min(SPAN, d - k), min(k, 1)
        i = 0
        while i < n_rows:
            full = i + ROWS <= n_rows
            row = x + (i * d + k) * size
            for j in range(0, TILE, width):
                column, pair = z + (k * TILE + j) * size, out + (i * TILE + j) * size
                if full:
                    _add_tile(literally(term), ROWS, row, column, pair, length, d, go_on, zero)
                else:
                    _add_tile(literally(term), 1, row, column, pair, length, d, go_on, zero)
            i += ROWS if full else 1


@vector_function
def _add_tile(
    code: VectorCode,
    term: Constant,
    rows: Constant,
    x: int,
    z: int,
    out: int,
    length: int,
    stride: int,
    go_on: int,
    zero: float,
) -> None:
    """out[r, c] = sum_k term(x[r, k], z[k, c]) for k < length, r < rows, c < VECTORS vectors; added where `go_on` is 1.

    stride : numbers between rows of x; those of z and of out are TILE apart
    """
    builder, step = code.builder, STEPS[Term(term)]
    totals = [[cgutils.alloca_once(builder, code.type) for _ in range(VECTORS)] for _ in range(rows)]
    for row in totals:
        for total in row:
            builder.store(ir.Constant(code.type, None), total)
    starts = [builder.mul(stride, integer(r)) for r in range(rows)]
    with cgutils.for_range(builder, length) as loop:
        first = builder.mul(loop.index, integer(TILE))
        columns = [code.load(z, builder.add(first, integer(c * code.lanes))) for c in range(VECTORS)]
        for start, row in zip(starts, totals, strict=True):
            number = code.splat(code.load_scalar(x, builder.add(start, loop.index)))
            for column, total in zip(columns, row, strict=True):
                builder.store(step(code, builder.load(total), number, column), total)
    pairs = [(total, integer(r * TILE + c * code.lanes)) for r, row in enumerate(totals) for c, total in enumerate(row)]
    with builder.if_then(builder.icmp_signed("!=", go_on, integer(0)), likely=False):
        for total, place in pairs:
            builder.store(builder.fadd(builder.load(total), code.load(out, place)), total)
    for total, place in pairs:
        code.store(builder.load(total), out, place)
