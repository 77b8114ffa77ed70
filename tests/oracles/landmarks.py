"""What landmark selectors should do, by formulas that need the whole Gram matrix."""

from __future__ import annotations

from itertools import permutations

import numpy as np


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
