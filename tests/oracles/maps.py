"""Explicit maps written out element by element, in NumPy."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, permutations
from math import factorial, floor, prod, sqrt

import numpy as np


def monomials(n_features: int, degree: int) -> dict[tuple[int, ...], int]:
    """Every distinct product of `degree` features, and how often it occurs in the Kronecker power."""
    return {
        chosen: factorial(degree) // prod(factorial(times) for times in Counter(chosen).values())
        for chosen in combinations_with_replacement(range(n_features), degree)
    }


def polynomial_map(x: np.ndarray, degree: int, offset: float) -> np.ndarray:
    """The Kronecker power of (x, sqrt(offset)) itself, nothing merged (section 3.1)."""
    extended = np.append(x, sqrt(offset)) if offset > 0 else x
    phi = np.ones(1)
    for _ in range(degree):
        phi = np.kron(phi, extended)
    return phi


def unary_map(x: np.ndarray, low: np.ndarray, high: np.ndarray, levels: int, nearest: bool) -> np.ndarray:
    """Eqs. 2 and 3: per feature k ones of `levels`, times the root of the step; and the root of the lower bound."""
    phi: list[float] = []
    for value, bottom, top in zip(x, low, high, strict=True):
        position = levels * (value - bottom) / (top - bottom) if top > bottom else 0.0
        count = min(max(floor(position + 0.5 if nearest else position), 0), levels)
        root = sqrt((top - bottom) / levels)
        phi += [root if level < count else 0.0 for level in range(levels)]
        phi.append(sqrt(bottom))
    return np.array(phi)


def proposition_1_bound(low: np.ndarray, high: np.ndarray, levels: int) -> float:
    return sum(top - bottom for bottom, top in zip(low, high, strict=True)) / levels


def psd_part(gram: np.ndarray, n_components: int | None = None) -> np.ndarray:
    """The sum of lambda v v' over positive eigenvalues, the largest n_components of them if given."""
    values, vectors = np.linalg.eigh(gram)
    order = np.argsort(values)[::-1][:n_components]
    return sum(
        (values[i] * np.outer(vectors[:, i], vectors[:, i]) for i in order if values[i] > 0), np.zeros_like(gram)
    )


def residual(gram: np.ndarray, pivots: list[int]) -> np.ndarray:
    """What the pivots leave unexplained: K - K_S K_SS^+ K_S'."""
    columns = gram[:, pivots]
    return gram - columns @ np.linalg.pinv(gram[np.ix_(pivots, pivots)], rcond=1e-10) @ columns.T


def pivot_distribution(gram: np.ndarray, n_pivots: int) -> dict[tuple[int, ...], float]:
    """The chance of every sequence of pivots, each drawn by the residual diagonal that the ones before it leave."""
    chances = {}
    for pivots in permutations(range(len(gram)), n_pivots):
        chance = 1.0
        for i, pivot in enumerate(pivots):
            left = np.diag(residual(gram, list(pivots[:i])))
            chance *= left[pivot] / left.sum()
        chances[pivots] = chance
    return chances


def expected_residual_bound(gram: np.ndarray, n_pivots: int) -> float:
    """tr Phi(...Phi(K)) with Phi(K) = K - K^2 / tr K: exact for one pivot, an upper bound after (Chen et al., 2024)."""
    for _ in range(n_pivots):
        gram = gram - gram @ gram / np.trace(gram)
    return float(np.trace(gram))


def ridge_leverage(gram: np.ndarray, ridge: float) -> np.ndarray:
    return np.diag(gram @ np.linalg.inv(gram + ridge * np.eye(len(gram)))).copy()
