"""Elementary kernels as plain formulas for one pair of samples, in NumPy, and double loops over pairs."""

from __future__ import annotations

from collections.abc import Callable
from math import atan2, cos, exp, hypot, inf, log1p, pi, sin, sqrt

import numpy as np

Pair = Callable[[np.ndarray, np.ndarray], float]


def linear(x: np.ndarray, z: np.ndarray) -> float:
    return float(sum(a * b for a, b in zip(x, z, strict=True)))


def polynomial(degree: int, offset: float = 0.0) -> Pair:
    def value(x: np.ndarray, z: np.ndarray) -> float:
        product = 1.0
        for _ in range(degree):
            product *= linear(x, z) + offset
        return product

    return value


def gaussian(scale: float) -> Pair:
    return lambda x, z: exp(-(euclidean(x, z) ** 2) / (2 * scale**2))


def rational_quadratic(scale: float, alpha: float = 1.0) -> Pair:
    return lambda x, z: exp(-alpha * log1p(euclidean(x, z) ** 2 / (2 * alpha * scale**2)))


def laplacian(scale: float) -> Pair:
    return lambda x, z: exp(-city_block(x, z) / scale)


def chi_square(scale: float) -> Pair:
    return lambda x, z: exp(-chi_square_distance(x, z) / scale)


def intersection(x: np.ndarray, z: np.ndarray) -> float:
    return float(sum(min(a, b) for a, b in zip(x, z, strict=True)))


def hellinger(x: np.ndarray, z: np.ndarray, root: int = 2) -> float:
    return float(sum((a * b) ** (1 / root) for a, b in zip(x, z, strict=True)))


def hellinger4(x: np.ndarray, z: np.ndarray) -> float:
    return hellinger(x, z, 4)


def scaled(fitted: np.ndarray, scaling: str = "columns", root: int = 1) -> Callable[[np.ndarray], np.ndarray]:
    """From a sample to s(x) / sqrt(m), m the mean of |s(x) - s(z)|^2 over different fitted samples; 1 where it is 0."""

    def prepared(x: np.ndarray) -> np.ndarray:
        x = np.array([v ** (1 / root) if root > 1 else v for v in x])
        length = hypot(*x) if scaling == "rows" else 1.0
        return x / length if length > 0 else x

    columns = np.array([prepared(x) for x in fitted]).T
    units = np.ones(len(columns))
    if scaling == "columns":
        units = np.array([np.ptp(c) * np.std((c - c[0]) / np.ptp(c)) if np.ptp(c) > 0 else inf for c in columns])
    rows = columns.T / units
    pairs = [float(((a - b) ** 2).sum()) for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j]
    mean = float(np.mean(pairs)) if pairs else 0.0
    largest = max(float((row**2).sum()) for row in rows)
    mean = mean if mean > 1e-24 * largest else 1.0  # the rest is rounding
    return lambda x: prepared(x) / units / sqrt(mean)


def distance(fitted: np.ndarray, scaling: str = "columns", root: int = 1) -> Pair:
    """Minus the squared distance over its mean between different fitted samples, of scaled samples."""
    features = scaled(fitted, scaling, root)
    return lambda x, z: -float(sum((a - b) ** 2 for a, b in zip(features(x), features(z), strict=True)))


def arc_cosine(order: int) -> Pair:
    """Eqs. 3 to 6 of Cho and Saul (2009); a right angle at the origin."""

    def value(x: np.ndarray, z: np.ndarray) -> float:
        size_x, size_z = sqrt(linear(x, x)), sqrt(linear(z, z))
        theta = angle(x / size_x, z / size_z) if size_x and size_z else pi / 2
        if order == 0:
            angular = pi - theta
        elif order == 1:
            angular = sin(theta) + (pi - theta) * cos(theta)
        else:
            angular = 3 * sin(theta) * cos(theta) + (pi - theta) * (1 + 2 * cos(theta) ** 2)
        return (size_x * size_z) ** order * angular / pi

    return value


def angle(u: np.ndarray, v: np.ndarray) -> float:
    """Between unit vectors, by Kahan's formula, which is accurate for angles near 0 and pi as well."""
    difference, total = u - v, u + v
    return 2 * atan2(sqrt(linear(difference, difference)), sqrt(linear(total, total)))


def tapered_product(x: np.ndarray, z: np.ndarray) -> float:
    """A product of two kernels, linear and Cauchy: what the tests give as a user's own function."""
    return linear(x, z) / (1 + euclidean(x, z) ** 2)


def looked_up(gram: np.ndarray) -> Pair:
    return lambda x, z: float(gram[int(x[0]), int(z[0])])


def normalised(kernel: Pair) -> Pair:
    """k(x, z) / sqrt(k(x, x) k(z, z)), and 0 for a sample without content."""

    def value(x: np.ndarray, z: np.ndarray) -> float:
        own_x, own_z = kernel(x, x), kernel(z, z)
        return kernel(x, z) / (sqrt(own_x) * sqrt(own_z)) if own_x > 0 and own_z > 0 else 0.0

    return value


def matrix(kernel: Pair, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.array([[kernel(x, z) for z in Z] for x in X])


def diagonal(kernel: Pair, X: np.ndarray) -> np.ndarray:
    return np.array([kernel(x, x) for x in X])


def euclidean(x: np.ndarray, z: np.ndarray) -> float:
    return sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


def city_block(x: np.ndarray, z: np.ndarray) -> float:
    return float(sum(abs(a - b) for a, b in zip(x, z, strict=True)))


def chi_square_distance(x: np.ndarray, z: np.ndarray) -> float:
    return float(sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0))


def mean_distance(distance: Pair, X: np.ndarray) -> float:
    """Over all pairs of different samples."""
    return float(np.mean([distance(X[i], X[j]) for i in range(len(X)) for j in range(len(X)) if i != j]))


def neighbour_distance(distance: Pair, X: np.ndarray, n_neighbours: int) -> float:
    """Over all samples and their nearest other samples."""
    nearest = [np.sort([distance(X[i], X[j]) for j in range(len(X)) if j != i])[:n_neighbours] for i in range(len(X))]
    return float(np.mean(nearest))


SCALE = 1.7
NAMED = {
    "linear": linear,
    "poly2": polynomial(2),
    "poly3": polynomial(3),
    "gaussian": gaussian(SCALE),
    "rational-quadratic": rational_quadratic(SCALE),
    "laplacian": laplacian(SCALE),
    "intersection": intersection,
    "chi2": chi_square(SCALE),
    "hellinger": hellinger,
    "hellinger4": hellinger4,
    "arccos0": arc_cosine(0),
    "arccos1": arc_cosine(1),
    "arccos2": arc_cosine(2),
}
"""By name, of all that are p.s.d.; those with a scale at this one."""
