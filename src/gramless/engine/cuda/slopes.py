"""Gradients of sums over features, T_ij = sum_d t(x_id, z_jd), with respect to z: n m d updates each.

One program owns COLUMNS x FEATURES numbers of the result, keeps their z and their totals in registers and goes through
the rows: a row is FEATURES numbers of x and COLUMNS of the cotangent, read in the order in which they lie in memory.
RUN rows are added up before their total joins the others', since rounding grows with their number.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gramless.engine.cuda.sums import CITY_BLOCK, MINIMUM
from gramless.engine.program import Term

COLUMNS, FEATURES = 32, 64
RUN = 256  # a multiple of STEP
STEP = 4  # rows that are brought at once
WARPS = 4


@triton.jit
def _slopes_kernel(  # type: ignore[no-untyped-def]
    x,
    z,
    cotangent,
    out,
    n,
    m,
    d,
    TERM: tl.constexpr,
    COLUMNS: tl.constexpr,
    FEATURES: tl.constexpr,
    RUN: tl.constexpr,
    STEP: tl.constexpr,
):
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.program_id(0) * FEATURES + tl.arange(0, FEATURES)
    places = j[:, None].to(tl.int64) * d + k[None, :]
    inside = (j[:, None] < m) & (k[None, :] < d)
    b = tl.load(z + places, inside, other=0.0)
    total = tl.zeros((COLUMNS, FEATURES), tl.float32)
    x_row, factors = x + k, cotangent + j
    for run in range(0, n, RUN):
        part = tl.zeros((COLUMNS, FEATURES), tl.float32)
        for first in tl.range(run, min(run + RUN, n), STEP, num_stages=3):
            for s in tl.static_range(STEP):
                exists = first + s < n
                a = tl.load(x_row, k < tl.where(exists, d, 0), other=0.0)[None, :]
                c = tl.load(factors, j < tl.where(exists, m, 0), other=0.0)[:, None]
                if TERM == MINIMUM:  # twice the slope
                    part += tl.where(b < a, c, 0.0)
                    part += tl.where(b <= a, c, 0.0)
                elif TERM == CITY_BLOCK:
                    part += tl.where(b > a, c, 0.0)
                    part -= tl.where(b < a, c, 0.0)
                else:  # u (2 - u): no square that overflows, nothing that cancels where z is close to x
                    both = b + a
                    u = (b - a) / tl.where(both == 0, 1.0, both)
                    part += c * u * (2 - u)
                x_row += d
                factors += m
        total += part
    if TERM == MINIMUM:
        total *= 0.5
    tl.store(out + places, total, inside)


def feature_slopes(term: Term, x: Tensor, z: Tensor, cotangent: Tensor, out: Tensor) -> None:
    """out[j, d] = sum_i cotangent_ij t', the slope of the term t at z_jd.

    Minimum: 1 where z_jd < x_id, 1/2 where they are equal, else 0. City block: sign(z_jd - x_id). Chi-square:
    (z_jd - x_id) (3 x_id + z_jd) / (x_id + z_jd)^2 of non-negative numbers, with 0 / 0 = 0. Tensors are contiguous
    float32: (n, d), (m, d), (n, m) and (m, d).
    """
    (n, d), m = x.shape, len(z)
    tensors = (x, z, cotangent, out)
    assert all(tensor.dtype == torch.float32 for tensor in tensors), "tensors must be float32"
    assert all(tensor.is_contiguous() for tensor in tensors), "tensors must be contiguous"
    assert (cotangent.shape, out.shape, z.shape[1]) == ((n, m), z.shape, d), "shapes do not fit together"
    grid = (triton.cdiv(d, FEATURES), triton.cdiv(m, COLUMNS))
    _slopes_kernel[grid](
        x,
        z,
        cotangent,
        out,
        n,
        m,
        d,
        TERM=int(term),
        COLUMNS=COLUMNS,
        FEATURES=FEATURES,
        RUN=RUN,
        STEP=STEP,
        num_warps=WARPS,
    )
