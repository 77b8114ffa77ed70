"""Recognising samples that were seen before, without reading all features of those that were not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from gramless.budget import row_blocks
from gramless.views import Views

DIFFERENCES = 16  # between the signed features of two samples on average: enough to tell them apart, few to read
BLOCK_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Finds samples again among known ones: those whose features are all the same as values of `dtype`.

    A signature, a number made of a few columns, rules out nearly every other sample; where signatures are the same a
    digest of all features decides. All features are read only of a sample that is probably known.
    """

    rows: Views
    dtype: torch.dtype

    def find(self, X: Views) -> Tensor:
        """For every row of X the number of the last known row that is the same sample, or -1: (n,)."""
        signatures = self.signatures(X)
        found = np.full(len(X), -1)
        suspects = np.flatnonzero(np.isin(signatures, self.own_signatures))
        if len(suspects):
            candidates = np.flatnonzero(np.isin(self.own_signatures, signatures[suspects]))
            numbers = dict(zip(self.digests(self.rows[candidates]), candidates.tolist(), strict=True))
            found[suspects] = [numbers.get(digest, -1) for digest in self.digests(X[suspects])]
        return torch.from_numpy(found)

    def others(self, X: Views) -> Tensor:
        """Numbers of the rows of X that are not known, each distinct sample where it first occurs."""
        signatures = self.signatures(X)
        both = np.concatenate([self.own_signatures, signatures])
        _, group, sizes = np.unique(both, return_inverse=True, return_counts=True)
        shared = sizes[group] > 1
        candidates, suspects = np.flatnonzero(shared[: len(self.rows)]), np.flatnonzero(shared[len(self.rows) :])
        fresh = np.ones(len(X), dtype=bool)
        seen = set(self.digests(self.rows[candidates]))
        for row, digest in zip(suspects, self.digests(X[suspects]), strict=True):
            fresh[row] = digest not in seen
            seen.add(digest)
        return torch.from_numpy(np.flatnonzero(fresh))

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns of every view that make a signature.

        Consecutive known rows differ most often in them, and in 16 of them on average: 16 columns of a dense view, more
        of one that is mostly zeros. At least 16 where there are as many.
        """
        changes = {name: np.zeros(width, dtype=np.int64) for name, width in self.rows.layout.items()}
        for block in self._blocks(self.rows):
            for name, count in changes.items():
                values = block.tensor(name, self.dtype)
                count += (values[1:] != values[:-1]).sum(0).cpu().numpy()
        chosen = {}
        for name, count in changes.items():
            order = np.argsort(-count, kind="stable")
            enough = np.searchsorted(count[order].cumsum(), min(DIFFERENCES * len(self.rows), count.sum())) + 1
            chosen[name] = np.sort(order[: max(enough, DIFFERENCES)])
        return chosen

    @cached_property
    def own_signatures(self) -> np.ndarray:
        return self.signatures(self.rows)

    def signatures(self, X: Views) -> np.ndarray:
        """sum_j m_j b_j modulo 2^64 with the bits b_j of the signing columns and odd random m_j: (n,)."""
        n_columns = sum(len(columns) for columns in self.columns.values())
        multipliers = np.random.default_rng(0).integers(2**63, size=n_columns, dtype=np.uint64) * 2 + 1
        signatures = np.empty(len(X), dtype=np.uint64)
        for rows in row_blocks(len(X), 3 * 8 * n_columns, BLOCK_BYTES):
            block = X[rows]
            values = self._dense(Views({name: block[name][:, columns] for name, columns in self.columns.items()}))
            bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64).astype(np.uint64)
            bits ^= bits >> np.uint64(32)  # short numbers end in zeros, which a product with m_j would only move up
            signatures[rows] = bits @ multipliers
        return signatures

    def digests(self, X: Views) -> list[bytes]:
        """One digest of every row over all views."""
        return [
            blake2b(row.tobytes(), digest_size=16).digest() for block in self._blocks(X) for row in self._dense(block)
        ]

    def _blocks(self, X: Views) -> Iterator[Views]:
        for rows in row_blocks(len(X), self.dtype.itemsize * X.shape[1], BLOCK_BYTES):
            yield X[rows]

    def _dense(self, X: Views) -> np.ndarray:
        """All known views side by side; adding zero makes -0.0 and 0.0 the same bits."""
        return torch.cat([X.tensor(name, self.dtype).cpu() + 0.0 for name in self.rows.names], dim=1).numpy()
