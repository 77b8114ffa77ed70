"""Sequential minimal optimisation on the CPU: Numba, one label per core, all labels on one Gram matrix."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

FORBIDDEN = np.float32(1e30)
FLAT = np.float32(1e-12)  # curvature of a pair whose kernel rows coincide


@njit(parallel=True, cache=True)
def smo(
    gram: np.ndarray,
    signs: np.ndarray,
    upper: np.ndarray,
    alpha: np.ndarray,
    slack: np.ndarray,
    tolerance: float,
    max_iter: int,
    order: np.ndarray,
) -> np.ndarray:
    """Improve alpha and slack in place, (n_labels, n) each, until no pair violates by more than the tolerance.

    Returns the number of pair steps of each label.
    """
    n_steps = np.zeros(len(signs), np.int64)
    for turn in prange(len(signs)):
        label = order[turn]
        n_steps[label] = _one_label(
            gram, signs[label], upper[label], alpha[label], slack[label], np.float32(tolerance), max_iter
        )
    return n_steps


@njit(cache=True, fastmath=True)
def _one_label(gram, y, upper, alpha, slack, tolerance, max_iter):  # type: ignore[no-untyped-def]
    """LIBSVM's algorithm: the most violating sample i, then the j that with it gains most (Fan, Chen and Lin, 2005).

    slack[t] = y_t - f(x_t) without the bias. i may still move towards its label, j away from it; each scan is a plain
    loop over float32 so that it becomes vector instructions, which is also why the index is searched afterwards.
    """
    n = len(y)
    diagonal = np.empty(n, np.float32)
    raise_bar = np.empty(n, np.float32)  # 0 where y_t alpha_t may grow, forbidding otherwise
    lower_bar = np.empty(n, np.float32)  # 0 where y_t alpha_t may shrink
    gain = np.empty(n, np.float32)
    for t in range(n):
        diagonal[t] = gram[t, t]
        raise_bar[t] = -_bar(y[t], alpha[t], upper[t])
        lower_bar[t] = _bar(-y[t], alpha[t], upper[t])
    for step in range(max_iter):
        highest, lowest = -FORBIDDEN, FORBIDDEN
        for t in range(n):
            highest = max(highest, slack[t] + raise_bar[t])
            lowest = min(lowest, slack[t] + lower_bar[t])
        if highest - lowest < tolerance:
            return step
        i = 0
        while slack[i] + raise_bar[i] < highest:
            i += 1
        row_i = gram[i]
        best = np.float32(-1.0)
        for t in range(n):
            violation = max(highest - slack[t] - lower_bar[t], np.float32(0.0))
            curvature = max(diagonal[i] + diagonal[t] - np.float32(2.0) * row_i[t], FLAT)
            gain[t] = violation * violation / curvature
            best = max(best, gain[t])
        j = 0
        while gain[j] < best:
            j += 1
        row_j = gram[j]
        curvature = max(diagonal[i] + diagonal[j] - np.float32(2.0) * row_i[j], FLAT)
        room_i = upper[i] - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else upper[j] - alpha[j]
        size = min((highest - slack[j]) / curvature, min(room_i, room_j))
        # Land exactly on a bound that is reached: rounding must not leave a sample half free.
        alpha[i] = (upper[i] if y[i] > 0 else np.float32(0.0)) if size >= room_i else alpha[i] + y[i] * size
        alpha[j] = (np.float32(0.0) if y[j] > 0 else upper[j]) if size >= room_j else alpha[j] - y[j] * size
        for t in range(n):
            slack[t] -= size * (row_i[t] - row_j[t])
        raise_bar[i], lower_bar[i] = -_bar(y[i], alpha[i], upper[i]), _bar(-y[i], alpha[i], upper[i])
        raise_bar[j], lower_bar[j] = -_bar(y[j], alpha[j], upper[j]), _bar(-y[j], alpha[j], upper[j])
    return max_iter


@njit(cache=True)
def _bar(direction, alpha, upper):  # type: ignore[no-untyped-def]
    """0 where alpha may move in the direction of the sign, a forbidding number where it is at that bound."""
    if direction > 0:
        return np.float32(0.0) if alpha < upper else FORBIDDEN
    return np.float32(0.0) if alpha > 0 else FORBIDDEN
