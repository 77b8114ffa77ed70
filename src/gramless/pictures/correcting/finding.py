"""Pictures like another one, and near-duplicates."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable

import numpy as np

from gramless.support.packages import needed

ROWS_AT_ONCE = 1024
OUTLINE_SIDE = 8  # enough to tell pictures of one kind apart, and too little to mind a slight crop
SAME_OUTLINE = 0.85  # cosine; 1 in 1,000 pairs of different drawn scenes has more, 1 in 20 slightly cropped ones less


def most_alike(vectors: np.ndarray, position: int) -> tuple[np.ndarray, np.ndarray]:
    """All positions by their cosine with one picture, itself first, and those cosines; vectors (n, d) of length 1."""
    cosines = vectors @ vectors[position]
    cosines[position] = np.inf  # a duplicate may be as near as the picture itself
    order = np.argsort(-cosines, kind="stable")
    cosines[position] = 1.0
    return order, cosines[order]


def outline(jpeg: bytes) -> np.ndarray:
    """How grey levels rise and fall over a picture, coarsely: of length 1, or zeros for a picture of one grey.

    The vectors of the map say what a picture shows, not where: two boats on a sea are alike. Outlines tell them apart.
    """
    image = needed("PIL.Image")
    small = image.open(io.BytesIO(jpeg)).convert("L").resize((OUTLINE_SIDE, OUTLINE_SIDE), image.Resampling.BOX)
    grey = np.asarray(small, dtype=np.float64)
    slopes = np.concatenate([np.diff(grey, axis=1).ravel(), np.diff(grey, axis=0).ravel()])
    return slopes / max(float(np.linalg.norm(slopes)), 1.0)


def near_duplicates(vectors: np.ndarray, least: float, is_same: Callable[[int, int], bool]) -> list[np.ndarray]:
    """Groups of at least two pictures, each the same as another one of its group; largest first.

    Vectors (n, d) of length 1. All pairs are compared, half a matrix product of n x d by d x n, a block at a time;
    of those with a cosine of at least `least`, `is_same` says whether they are the same.
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
            if a != b and is_same(start + int(i), start + int(j)):
                parent[max(a, b)] = min(a, b)
    groups = defaultdict(list)
    for i in range(len(vectors)):
        groups[root(i)].append(i)
    found = [np.array(group) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group[0]))
