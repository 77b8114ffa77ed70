"""Sequential minimal optimisation on the CPU: Numba, one label per core, all labels on one Gram matrix.

LIBSVM's algorithm: the most violating sample i, then the j that together with it gains most (Fan, Chen and Lin, 2005).
A step is four passes over n numbers and two rows of the Gram matrix. Each pass is a plain loop that becomes vector
instructions, which is why extremes are found on the bits of the floats, as integers: compilers reorder a maximum of
integers, but not one of floats, of which some might be NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from gramless.engine.cpu.caching import Compiled
from gramless.engine.cpu.threads import tasks

FORBIDDEN = np.float32(1e30)
FLAT = np.float32(1e-12)  # curvature of a pair whose kernel rows coincide
MAGNITUDE = np.int32(0x7FFFFFFF)  # all bits of a float but its sign
SPAN = 128  # numbers looked at together in search of one


@Compiled
@njit(nogil=True, cache=True)
def smo(
    counter: np.ndarray,
    n_tasks: int,
    gram: np.ndarray,
    signs: np.ndarray,
    upper: np.ndarray,
    alpha: np.ndarray,
    slack: np.ndarray,
    tolerance: float,
    max_iter: int,
    order: np.ndarray,
    n_steps: np.ndarray,
) -> None:
    """Improve alpha and slack in place, (n_labels, n) each, until no pair violates by more than the tolerance.

    slack = y - f without the bias. Labels are taken in the given order. n_steps is set to their pair steps.
    """
    for turn in tasks(counter, n_tasks):
        label = order[turn]
        n_steps[label] = _one_label(
            gram, signs[label], upper[label], alpha[label], slack[label], np.float32(tolerance), max_iter
        )


@njit(cache=True)
def _one_label(gram: Any, y: Any, upper: Any, alpha: Any, slack: Any, tolerance: np.float32, max_iter: int) -> int:
    n = len(y)
    diagonal, gains = np.empty(n, np.float32), np.empty(n, np.float32)
    rise_bars, fall_bars = np.empty(n, np.float32), np.empty(n, np.float32)
    rises, falls = np.empty(n, np.float32), np.empty(n, np.float32)  # slack where y alpha may still rise, or fall
    extreme_bits = np.empty(2, np.int32)
    extremes = extreme_bits.view(np.float32)
    for t in range(n):
        diagonal[t] = gram[t, t]
        rise_bars[t], fall_bars[t] = _bars(y[t], alpha[t], upper[t])
    _move(slack, gram[0], gram[0], np.float32(0.0), rise_bars, fall_bars, rises, falls)
    for step in range(max_iter):
        extreme_bits[0], extreme_bits[1] = _extremes(rises.view(np.int32), falls.view(np.int32))
        highest = extremes[0]
        if highest - extremes[1] < tolerance:
            return step
        i = _position(rises.view(np.int32), extreme_bits[0])
        row_i = gram[i]
        _pair_gains(falls, diagonal, row_i, diagonal[i], highest, gains)
        j = _position(gains.view(np.int32), _largest(gains.view(np.int32)))
        row_j = gram[j]
        curvature = max(diagonal[i] + diagonal[j] - np.float32(2.0) * row_i[j], FLAT)
        room_i = upper[i] - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else upper[j] - alpha[j]
        size = min((highest - slack[j]) / curvature, min(room_i, room_j))
        # Land exactly on a bound that is reached: rounding must not leave a sample half free.
        alpha[i] = (upper[i] if y[i] > 0 else np.float32(0.0)) if size >= room_i else alpha[i] + y[i] * size
        alpha[j] = (np.float32(0.0) if y[j] > 0 else upper[j]) if size >= room_j else alpha[j] - y[j] * size
        rise_bars[i], fall_bars[i] = _bars(y[i], alpha[i], upper[i])
        rise_bars[j], fall_bars[j] = _bars(y[j], alpha[j], upper[j])
        _move(slack, row_i, row_j, size, rise_bars, fall_bars, rises, falls)
    return max_iter


@njit(cache=True)
def _bars(y: np.float32, alpha: np.float32, upper: np.float32) -> tuple[np.float32, np.float32]:
    """0 where y alpha may rise, and where it may fall; a forbidding number where it is at that bound."""
    may_grow = np.float32(0.0) if alpha < upper else FORBIDDEN
    may_shrink = np.float32(0.0) if alpha > 0 else FORBIDDEN
    if y > 0:
        return -may_grow, may_shrink
    return -may_shrink, may_grow


@njit(cache=True, fastmath=True)
def _move(slack: Any, row_i: Any, row_j: Any, size: np.float32, rise: Any, fall: Any, rises: Any, falls: Any) -> None:
    """The slack after y_i alpha_i rose and y_j alpha_j fell by size."""
    for t in range(len(slack)):
        moved = slack[t] - size * (row_i[t] - row_j[t])
        slack[t] = moved
        rises[t] = moved + rise[t]
        falls[t] = moved + fall[t]


@njit(cache=True, fastmath=True)
def _pair_gains(falls: Any, diagonal: Any, row: Any, own: np.float32, highest: np.float32, gains: Any) -> None:
    """How much a step with each partner gains, times two: violation^2 / curvature, 0 where nothing is violated."""
    for t in range(len(falls)):
        violation = highest - falls[t]
        violation = (violation + abs(violation)) * np.float32(0.5)
        curvature = own + diagonal[t] - np.float32(2.0) * row[t]
        curvature = curvature if curvature > FLAT else FLAT
        gains[t] = violation * violation / curvature


@njit(cache=True)
def _extremes(rises: Any, falls: Any) -> tuple[np.int32, np.int32]:
    """Bits of the largest of some floats and of the smallest of others, from their bits.

    Flipping the magnitude of negative floats makes integers that are ordered as the floats are.
    """
    highest, lowest = np.int32(-MAGNITUDE), MAGNITUDE
    for t in range(len(rises)):
        high, low = rises[t], falls[t]
        highest = max(highest, np.int32(high ^ ((high >> 31) & MAGNITUDE)))
        lowest = min(lowest, np.int32(low ^ ((low >> 31) & MAGNITUDE)))
    return np.int32(highest ^ ((highest >> 31) & MAGNITUDE)), np.int32(lowest ^ ((lowest >> 31) & MAGNITUDE))


@njit(cache=True)
def _largest(bits: Any) -> np.int32:
    """Bits of the largest of non-negative floats."""
    largest = np.int32(0)
    for t in range(len(bits)):
        largest = max(largest, bits[t])
    return largest


@njit(cache=True)
def _position(bits: Any, wanted: np.int32) -> int:
    """Where the wanted bits stand first."""
    n = len(bits)
    for start in range(0, n - SPAN + 1, SPAN):
        found = np.int32(0)
        for t in range(start, start + SPAN):
            found = np.int32(found | (bits[t] == wanted))
        if found:
            for t in range(start, start + SPAN):
                if bits[t] == wanted:
                    return t
    for t in range(n - n % SPAN, n):
        if bits[t] == wanted:
            return t
    return 0
