"""Samples that are equal in all that is known of them are one sample, with the sum of their weights.

A copy that stays while the other is left out would tell its target: leave-one-out errors are those of samples that
nothing equal is left of. And a weight is what it says it is, so many copies. Samples stand in the order of their
hashes, so that no fit depends on the order in which they came.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from gramless.errors import DataError
from gramless.support.budget import row_blocks
from gramless.support.config import current_budget
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class DistinctSamples:
    views: Views
    targets: np.ndarray  # (n,) or (n, n_targets)
    weights: np.ndarray  # (n,), above zero


def distinct_samples(views: Views, targets: np.ndarray, weights: np.ndarray) -> DistinctSamples:
    """Those with a weight, each once."""
    used = np.flatnonzero(weights > 0)
    if not len(used):
        raise DataError("every sample has the weight 0: there is nothing to learn from.")
    digests = _digests(views, targets)[used]
    _, first, places = np.unique(digests, axis=0, return_index=True, return_inverse=True)
    together = np.bincount(places.ravel(), weights[used])
    chosen = used[first]
    return DistinctSamples(views[chosen], targets[chosen], together)


def _digests(views: Views, targets: np.ndarray) -> np.ndarray:
    """128 bits of every sample: (n, 2)."""
    found = np.empty((len(views), 2), dtype=np.uint64)
    for rows in row_blocks(len(views), 2 * 8 * views.shape[1], current_budget()):
        block = views[rows]
        tensors = [block.tensor(name, block.dtype).cpu().numpy() for name in sorted(block.names)]
        numbers = np.hstack([*(t.astype(np.float64) for t in tensors), targets[rows].reshape(len(block), -1)])
        numbers += 0.0  # -0.0 is 0.0
        found[rows] = [
            np.frombuffer(hashlib.blake2b(row.tobytes(), digest_size=16).digest(), np.uint64) for row in numbers
        ]
    return found
