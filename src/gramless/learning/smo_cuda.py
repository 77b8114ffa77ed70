"""Sequential minimal optimisation on the GPU: Triton, one label per program, all labels on one Gram matrix.

A label's alphas and slacks stay in registers from the first step to the last; a step reads two rows of the Gram matrix.
The same algorithm as on the CPU, step by step.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _at(here, values):  # type: ignore[no-untyped-def]
    return tl.sum(tl.where(here, values, 0.0), 0)


@triton.jit
def _smo_kernel(gram, signs, upper, alpha, slack, n_steps, n, tolerance, max_iter, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    label = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    inside = t < n
    y = tl.load(signs + label * n + t, inside, other=0.0)
    c = tl.load(upper + label * n + t, inside, other=0.0)
    a = tl.load(alpha + label * n + t, inside, other=0.0)
    s = tl.load(slack + label * n + t, inside, other=0.0)
    diagonal = tl.load(gram + t.to(tl.int64) * (n + 1), inside, other=1.0)
    step = 0
    violated = 1
    while violated == 1:
        may_grow, may_shrink = a < c, a > 0
        highest, i = tl.max(tl.where(inside & tl.where(y > 0, may_grow, may_shrink), s, -1e30), 0, return_indices=True)
        lowers = tl.where(inside & tl.where(y > 0, may_shrink, may_grow), s, 1e30)
        if (highest - tl.min(lowers, 0) < tolerance) | (step >= max_iter):
            violated = 0
        else:
            row_i = tl.load(gram + i.to(tl.int64) * n + t, inside, other=0.0)
            violation = highest - lowers
            curvature = tl.maximum(tl.load(gram + i.to(tl.int64) * (n + 1)) + diagonal - 2 * row_i, 1e-12)
            _, j = tl.max(tl.where(violation > 0, violation * violation / curvature, -1.0), 0, return_indices=True)
            row_j = tl.load(gram + j.to(tl.int64) * n + t, inside, other=0.0)
            y_i, y_j = tl.load(signs + label * n + i), tl.load(signs + label * n + j)
            c_i, c_j = tl.load(upper + label * n + i), tl.load(upper + label * n + j)
            a_i, a_j = _at(t == i, a), _at(t == j, a)
            room_i = tl.where(y_i > 0, c_i - a_i, a_i)
            room_j = tl.where(y_j > 0, a_j, c_j - a_j)
            size = tl.minimum((highest - _at(t == j, s)) / _at(t == j, curvature), tl.minimum(room_i, room_j))
            new_i = tl.where(size >= room_i, tl.where(y_i > 0, c_i, 0.0), a_i + y_i * size)
            new_j = tl.where(size >= room_j, tl.where(y_j > 0, 0.0, c_j), a_j - y_j * size)
            a = tl.where(t == i, new_i, tl.where(t == j, new_j, a))
            s -= size * (row_i - row_j)
            step += 1
    tl.store(alpha + label * n + t, a, inside)
    tl.store(slack + label * n + t, s, inside)
    tl.store(n_steps + label, step)


def smo(
    gram: Tensor, signs: Tensor, upper: Tensor, alpha: Tensor, slack: Tensor, tolerance: float, max_iter: int
) -> Tensor:
    """Improve alpha and slack in place, (n_labels, n) each; the number of pair steps of each label."""
    n_labels, n = signs.shape
    n_steps = torch.zeros(n_labels, dtype=torch.int32, device=signs.device)
    block = triton.next_power_of_2(n)
    warps = min(32, max(4, block // 256))
    _smo_kernel[(n_labels,)](
        gram, signs, upper, alpha, slack, n_steps, n, tolerance, max_iter, BLOCK=block, num_warps=warps
    )
    return n_steps
