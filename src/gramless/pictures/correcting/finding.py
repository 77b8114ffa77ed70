"""Pictures like another one, and near-duplicates, by the vectors of the deep map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

ROWS_AT_ONCE = 1024


def most_alike(vectors: np.ndarray, position: int) -> tuple[np.ndarray, np.ndarray]:
    """All positions by their cosine with one picture, itself first, and those cosines; vectors (n, d) of length 1."""
    cosines = vectors @ vectors[position]
    cosines[position] = np.inf  # a duplicate may be as near as the picture itself
    order = np.argsort(-cosines, kind="stable")
    cosines[position] = 1.0
    return order, cosines[order]


def near_duplicates(
    vectors: np.ndarray, least: float, tell: Callable[[float], None] = lambda share: None
) -> list[np.ndarray]:
    """Groups of at least two pictures, each within a cosine of `least` of another one of its group; largest first.

    Vectors (n, d) of length 1. All pairs are compared, half a matrix product of n x d by d x n, a block at a time.
    """
    parent = np.arange(len(vectors))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = int(parent[i])
        return i

    for start in range(0, len(vectors), ROWS_AT_ONCE):
        near = vectors[start : start + ROWS_AT_ONCE] @ vectors[start:].T >= least
        for i, j in zip(*np.nonzero(np.triu(near, 1)), strict=True):
            a, b = root(start + int(i)), root(start + int(j))
            parent[max(a, b)] = min(a, b)
        tell(1.0 - (1.0 - min(1.0, (start + ROWS_AT_ONCE) / len(vectors))) ** 2)
    groups = defaultdict(list)
    for i in range(len(vectors)):
        groups[root(i)].append(i)
    found = [np.array(group) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group[0]))
