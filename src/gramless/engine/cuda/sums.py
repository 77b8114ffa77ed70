"""Statistics of all pairs that are no matrix product: sums over the features of min, |x - z| and (x - z)^2 / (x + z).

One program makes a tile of ROWS x COLUMNS pairs. A thread keeps one column and all rows of it in registers, and takes
the features one at a time: a step reads ROWS + 1 numbers and does ROWS updates of two instructions. The features are
therefore read from transposed, zero-padded copies, x' (d, n) and z' (d, m), which the copy engine brings into shared
memory a few features ahead. n m d updates; every statistic of two zeros is zero, so that padding adds nothing.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gramless.engine.program import Term

ROWS = 128
COLUMNS_PER_WARP = 32
MAX_WARPS = 4
FEATURES_PER_STEP = 4
FEATURES_PER_PASS = 1024  # summed one after the other in float32; rounding grows with their number
COPIED_VALUES = 1 << 27  # of x, in a transposed copy at once: its offsets must fit into 32 bits

MINIMUM = tl.constexpr(int(Term.MINIMUM))
CITY_BLOCK = tl.constexpr(int(Term.CITY_BLOCK))
TINY = tl.constexpr(1e-37)  # a sum this small adds no more than itself


@triton.jit
def _sums_kernel(  # type: ignore[no-untyped-def]
    x,
    z,
    out,
    n,
    m,
    d,
    x_stride,
    z_stride,
    TERM: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in tl.range(0, d, STEP, num_stages=3):
        for k in tl.static_range(STEP):
            a = tl.load(x + (first + k) * x_stride + i)[:, None]
            b = tl.load(z + (first + k) * z_stride + j)[None, :]
            if TERM == MINIMUM:
                total += tl.minimum(a, b)
            elif TERM == CITY_BLOCK:
                total += tl.abs(a - b)
            else:
                root = (a - b) * tl.rsqrt(tl.maximum(a + b, TINY))  # squared last: nothing overflows
                total += root * root
    pairs = out + i[:, None].to(tl.int64) * m + j[None, :]
    inside = (i[:, None] < n) & (j[None, :] < m)
    if ACCUMULATE:
        total += tl.load(pairs, inside, other=0.0)
    tl.store(pairs, total, inside)


def feature_sums(term: Term, x: Tensor, z: Tensor, out: Tensor) -> None:
    """out[i, j] = sum_d term(x_id, z_jd) of float32 (n, d) and (m, d), with 0 / 0 = 0: (n, m)."""
    (n, d), m = x.shape, len(z)
    assert x.dtype == z.dtype == out.dtype == torch.float32
    assert z.shape[1] == d
    assert out.shape == (n, m)
    assert out.is_contiguous()
    warps = min(MAX_WARPS, triton.next_power_of_2(triton.cdiv(m, COLUMNS_PER_WARP)))
    columns = COLUMNS_PER_WARP * warps
    for first in range(0, d, FEATURES_PER_PASS):
        part = slice(first, first + FEATURES_PER_PASS)
        z_copy = _transposed(z[:, part], columns)
        n_rows = max(ROWS, COPIED_VALUES // len(z_copy) // ROWS * ROWS)
        for start in range(0, n, n_rows):
            x_copy = _transposed(x[start : start + n_rows, part], ROWS)
            block = out[start : start + n_rows]
            grid = (triton.cdiv(len(block), ROWS), triton.cdiv(m, columns))
            _sums_kernel[grid](
                x_copy,
                z_copy,
                block,
                len(block),
                m,
                len(z_copy),
                x_copy.shape[1],
                z_copy.shape[1],
                TERM=int(term),
                ACCUMULATE=first > 0,
                ROWS=ROWS,
                COLUMNS=columns,
                STEP=FEATURES_PER_STEP,
                num_warps=warps,
            )


def _transposed(samples: Tensor, multiple: int) -> Tensor:
    """(n, d) -> (d, n), zero-padded to whole steps of features and whole tiles of samples."""
    n, d = samples.shape
    copy = samples.new_zeros(triton.cdiv(d, FEATURES_PER_STEP) * FEATURES_PER_STEP, triton.cdiv(n, multiple) * multiple)
    copy[:d, :n] = samples.T
    return copy
