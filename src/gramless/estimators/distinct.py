"""Samples that are equal in all that is known of them are one sample, with the sum of their weights.

A copy that stays while the other is left out would tell its target: leave-one-out errors are those of samples that
nothing equal is left of. And a weight is what it says it is, so many copies. Samples stand in the order of their
hashes, so that no fit depends on the order in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from gramless.errors import DataError
from gramless.maps.tuning.held_out import digests
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class DistinctSamples:
    views: Views
    targets: np.ndarray  # (n,) or (n, n_targets)
    weights: np.ndarray  # (n,), above zero


def distinct_samples(views: Views, targets: np.ndarray, weights: np.ndarray) -> DistinctSamples:
    """Those with a weight, each once."""
    _, chosen, _, together = _copies(views, targets, weights)
    return DistinctSamples(views[chosen], targets[chosen], together)


@dataclass(frozen=True, eq=False)
class MergedCopies:
    """Samples that differ, and where they stand among those that were given.

    weights : (n,), above zero, or None where every sample counts once
    rows : (n,), the row of each, of those with a weight the first; places : (n_given,), -1 for those without
    """

    views: Views
    labels: Any  # (n,) or (n, n_labels)
    weights: np.ndarray | None
    rows: np.ndarray
    places: np.ndarray

    def weights_of(self, mask: np.ndarray) -> np.ndarray | None:
        """The weights of these rows."""
        return None if self.weights is None else self.weights[mask]


def all_of(views: Views, labels: Any) -> MergedCopies:
    """Samples as they are, copies and all."""
    rows = np.arange(len(views))
    return MergedCopies(views, labels, None, rows, rows)


def merged_copies(views: Views, labels: Any, weights: np.ndarray | None) -> MergedCopies:
    """Of samples and their labels; where all differ and weigh the same as one, they stay in the order they came in."""
    used, chosen, found, together = _copies(views, _numbered(labels), weights)
    places = np.full(len(views), -1)
    if (together == 1).all():
        places[used] = np.arange(len(used))
        everything = len(used) == len(views)
        return MergedCopies(views if everything else views[used], labels[used], None, used, places)
    places[used] = found
    return MergedCopies(views[chosen], labels[chosen], together, chosen, places)


def _copies(views: Views, targets: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Rows with a weight; of these the first of every kind, the number of each one's kind, and the kinds' weights."""
    used = np.arange(len(views)) if weights is None else np.flatnonzero(weights > 0)
    if not len(used):
        raise DataError("every sample has the weight 0: there is nothing to learn from.")
    of_rows = np.frombuffer(b"".join(digests(views, torch.float64, targets)), np.uint64).reshape(-1, 2)  # 128 bits each
    _, first, kinds = np.unique(of_rows[used], axis=0, return_index=True, return_inverse=True)
    together = np.bincount(kinds.ravel(), None if weights is None else weights[used]).astype(np.float64)
    return used, used[first], kinds.ravel(), together


def _numbered(labels: Any) -> np.ndarray:
    """Labels as numbers, equal where they are."""
    if sparse.issparse(labels):
        return labels.toarray().astype(np.float64)
    if labels.dtype.kind == "O":  # texts, and numbers that mark samples without one
        codes: dict[Any, int] = {}
        numbers = [codes.setdefault(label, len(codes)) for label in labels.ravel().tolist()]
        return np.array(numbers, dtype=np.float64).reshape(labels.shape)
    if labels.ndim == 2 and labels.dtype.kind not in "SU":
        return labels.astype(np.float64)
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.float64)
