"""Which pictures to ask about next: those that the model is least sure of, and unlike each other."""

from __future__ import annotations

import numpy as np

POOL = 8  # of so many times the pictures asked for, the most uncertain, the most different are taken
LEAST_POOL = 200


def uncertainty(probabilities: np.ndarray) -> np.ndarray:
    """The entropy of a picture's keywords in bits, summed over keywords: (n,).

    Each keyword is a coin of its own; one that is out of the question, or certain, adds nothing.
    """
    p = np.clip(probabilities.astype(np.float64), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))
    return np.nan_to_num(bits, nan=0.0).sum(1)


def which_next(probabilities: np.ndarray, vectors: np.ndarray, asked: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` pictures whose answers would teach most, in the order in which to ask.

    probabilities : (n, n_keywords) of the pictures that may be asked about
    vectors : (n, d), rows of length 1
    asked : (m, d), rows of length 1: pictures that were answered, which need not be asked about once more

    Greedily the largest product of uncertainty and distance to the nearest picture that was asked about or taken
    before: uncertain pictures only would be all of one kind, distant ones only would be the odd ones out.
    O(n n_keywords + pool count d).
    """
    bits = uncertainty(probabilities)
    size = min(len(bits), max(LEAST_POOL, POOL * count))
    pool = np.argsort(-bits, kind="stable")[:size]
    rows, bits = vectors[pool].astype(np.float32), bits[pool]
    distances = np.full(len(pool), 2.0)
    if len(asked):
        distances = np.minimum(distances, _distances(rows, asked.astype(np.float32)).min(1))
    chosen: list[int] = []
    left = np.ones(len(pool), dtype=bool)
    for _ in range(min(count, len(pool))):
        worth = np.where(left, bits * distances, -1.0)
        best = int(worth.argmax())
        chosen.append(best)
        left[best] = False
        distances = np.minimum(distances, _distances(rows, rows[best : best + 1])[:, 0])
    return pool[chosen]


def _distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1 - cosine, (len(a), len(b)); at least 0."""
    return np.maximum(1.0 - a @ b.T, 0.0)
