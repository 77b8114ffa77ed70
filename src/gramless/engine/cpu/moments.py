"""Sums over the features of every row, all in one pass over the data.

Tensor operations would read a block four times, and start and stop the threads for each.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from gramless.engine.cpu.caching import Compiled
from gramless.engine.cpu.packing import Numbers
from gramless.engine.cpu.threads import threads_of_torch

REORDERED = {"reassoc", "contract", "nsz", "nnan"}  # of sums and minima of finite numbers: what vectors need


@Compiled
@njit(parallel=True, fastmath=REORDERED, cache=True)
def _moments(x, sums, squares, minima, maxima):  # type: ignore[no-untyped-def]
    for i in prange(len(x)):
        row = x[i]
        total = squared = np.float32(0.0)
        smallest = largest = row[0]
        for value in row:
            total += value
            squared += value * value
            smallest = min(smallest, value)
            largest = max(largest, value)
        sums[i], squares[i], minima[i], maxima[i] = total, squared, smallest, largest


def moments(x: Numbers) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """sum_d x_d, |x|^2, min_d x_d and max_d x_d of every row of C-contiguous float32 x (n, d): (n,) each."""
    x = np.asarray(x)
    sums, squares, minima, maxima = (np.empty(len(x), dtype=np.float32) for _ in range(4))
    with threads_of_torch():
        _moments(x, sums, squares, minima, maxima)
    return sums, squares, minima, maxima
