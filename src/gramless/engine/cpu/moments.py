"""Sums over the features of every row of several views, and what kernels make of them, in one pass over the data.

Tensor operations would read a block four times, and start and stop the threads for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from gramless.engine.cpu import tiles
from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.packing import Array, addresses
from gramless.engine.cpu.threads import run, tasks
from gramless.engine.cpu.vectors import one_like, size_of

NUMBERS_OF_A_TASK = 1 << 18


def moments(views: Sequence[Array]) -> np.ndarray:
    """sum_d x_d, |x|^2, min_d x_d and max_d x_d of every row of C-contiguous x (n, d), d >= 1: (n_views, 4, n).

    All views in float32, or all in float64.
    """
    arrays = [np.asarray(x) for x in views]
    n, dtype = len(arrays[0]), arrays[0].dtype
    found = np.empty((len(arrays), 4, n), dtype)
    widths = np.array([x.shape[1] for x in arrays], np.int64)
    height = max(1, NUMBERS_OF_A_TASK // int(widths.sum()))
    run(_moments, -(-n // height), height, addresses(arrays), widths, found, dtype.type(1))
    return found


@compiled
def _moments(counter: Any, n_tasks: Any, height: Any, places: Any, widths: Any, found: Any, one: Any) -> Any:
    n, size = found.shape[2], found.itemsize
    for task in tasks(counter, n_tasks):
        for i in range(task * height, min(n, (task + 1) * height)):
            for view in range(len(places)):
                to = np.intp(found.ctypes.data) + (view * 4 * n + i) * size
                tiles.moments(places[view] + i * widths[view] * size, widths[view], to, n, one)


@njit
def own_numbers(own: Any, places: Any, top: Any, bottom: Any, found: Any, numbers: Any, zero: Any) -> Any:
    """Rows top..bottom of `numbers` (3, n_kernels, n) by their moments; whether they are exact, and all rows allowed.

    found : (n_views, 4), for the moments of a row
    """
    source, a, b, cosine, slope, offset, largest, widths, bounds = own
    size, one = size_of(zero), one_like(zero)
    for i in range(top, bottom):
        for view in range(len(widths)):
            d = widths[view]
            tiles.moments(places[view] + i * d * size, d, np.intp(found.ctypes.data) + view * 4 * size, 1, zero)
            low, high = found[view, 2], found[view, 3]
            if not np.isfinite(found[view, 0]) or low < bounds[view, 0] or not max(-low, high) <= bounds[view, 1]:
                return False
        for q in range(len(a)):
            u = found[source[q, 0], source[q, 1]]
            shift = b[q] if a[q] == 0 else a[q] * u + b[q]
            gain = one
            if cosine[q]:
                squared = slope[q] * u + offset[q]
                gain = one / np.sqrt(squared) if squared > 0 else one - one
            numbers[0, q, i], numbers[1, q, i], numbers[2, q, i] = shift, gain, one
            if not abs(shift) <= largest[q]:
                return False
    return True
