"""Sums over the features of every row of several views, and what kernels make of them, in one pass over the data.

Tensor operations would read a block four times, and start and stop the threads for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from gramless.engine.cpu import tiles
from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.threads import run, tasks

NUMBERS_OF_A_TASK = 1 << 18


class Own(NamedTuple):
    """How the numbers of a row follow from its moments u, one entry per kernel: shift = a u + b, and, where `cosine`,
    gain = (slope u + offset)^(-1/2), or 0 where that is of 0; elsewhere 1, as are all factors."""

    source: np.ndarray  # (n_kernels, 2) int64: the view, and 0 for its sum or 1 for its squares
    a: np.ndarray
    b: np.ndarray
    cosine: np.ndarray  # bool
    slope: np.ndarray
    offset: np.ndarray
    largest: np.ndarray  # absolute value of a shift that is still exact


class Look(NamedTuple):
    moments: np.ndarray  # (n_views, 4, n): sums, squares, least and largest values of the rows
    numbers: np.ndarray  # (3, n_kernels, n): shifts, gains, factors
    exact: bool  # whether no shift is larger than it may be


def no_kernels(dtype: Any) -> Own:
    none = np.empty(0, dtype)
    return Own(np.empty((0, 2), np.int64), none, none, none.astype(bool), none, none, none)


def moments(views: Sequence[Tensor]) -> np.ndarray:
    """sum_d x_d, |x|^2, min_d x_d and max_d x_d of every row of C-contiguous x (n, d), d >= 1: (n_views, 4, n).

    All views in float32, or all in float64.
    """
    return look(views, no_kernels(views[0].numpy().dtype)).moments


def look(views: Sequence[Tensor], own: Own) -> Look:
    n, dtype = len(views[0]), own.a.dtype
    found, numbers = np.empty((len(views), 4, n), dtype), np.empty((3, len(own.a), n), dtype)
    places = np.array([(x.data_ptr(), x.shape[1]) for x in views], np.int64)
    exact = np.ones(1, np.int64)
    height = max(1, NUMBERS_OF_A_TASK // int(places[:, 1].sum()))
    run(_look, -(-n // height), height, places, tuple(own), found, numbers, exact, dtype.type(1))
    return Look(found, numbers, bool(exact[0]))


@compiled
def _look(
    counter: Any,
    n_tasks: Any,
    height: Any,
    places: Any,
    own: Any,
    found: Any,
    numbers: Any,
    exact: Any,
    one: Any,
) -> Any:
    source, a, b, cosine, slope, offset, largest = own
    n, size = found.shape[2], found.itemsize
    for task in tasks(counter, n_tasks):
        for i in range(task * height, min(n, (task + 1) * height)):
            for view in range(len(places)):
                x, d = places[view]
                to = np.intp(found.ctypes.data) + (view * 4 * n + i) * size
                tiles.moments(x + i * d * size, d, to, n, one)
            for q in range(len(a)):
                u = found[source[q, 0], source[q, 1], i]
                shift = b[q] if a[q] == 0 else a[q] * u + b[q]
                gain = one
                if cosine[q]:
                    squared = slope[q] * u + offset[q]
                    gain = one / np.sqrt(squared) if squared > 0 else one - one
                numbers[0, q, i], numbers[1, q, i], numbers[2, q, i] = shift, gain, one
                if not abs(shift) <= largest[q]:
                    exact[0] = 0
