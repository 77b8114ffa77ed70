"""How far rounding may move a result, from the arithmetic alone: the type, the length of sums, the condition.

A tolerance that was read off one machine's results holds on that machine. Processors, numbers of threads and layouts in
memory add up the same numbers in other orders; these bounds hold for every order.
"""

import numpy as np


def rounding(dtype) -> float:
    """The most that one rounding changes, as a share of the number: 2^-24 for float32, 2^-53 for float64."""
    return float(np.finfo(dtype).eps) / 2


def of_sum(n_terms, dtype) -> float:
    """Of a sum or inner product in any order, as a share of the sum of its terms' sizes (Higham 2002, eq. 3.4)."""
    steps = n_terms * rounding(dtype)
    return steps / (1 - steps)


def of_angle(n_features, dtype) -> float:
    """Of an angle between vectors, in units of pi, from their cosine.

    The cosine is one inner product of two vectors, each divided by the root of another: 3 n roundings or so. The
    condition of arccos is infinite at 1, where a cosine that is off by e is an angle of sqrt(2 e) instead of 0.
    """
    return float(np.sqrt(2 * of_sum(3 * n_features + 6, dtype)) / np.pi)


def of_convex_minimum(excess, n_minima=1) -> float:
    """Of w that minimise |w|^2 / 2 + convex losses to an objective this much above the least, by strong convexity."""
    return float(n_minima * np.sqrt(2 * excess))
