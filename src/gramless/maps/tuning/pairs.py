"""Which samples a map is tuned on, which are held out, and random pairs of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.support.budget import row_blocks
from gramless.views import Views

HELD_OUT_SHARE = 1 / 6
MAX_HELD_OUT = 500  # 125,000 pairs: a held-out error that is steady to a few thousandths of itself
BLOCK_BYTES = 64 << 20  # of rows, made dense at once
MIN_SAMPLES = 4  # one pair to fit, one pair to judge by


@dataclass(frozen=True, eq=False)
class HeldOutSplit:
    """Row numbers: those to fit, in random order, and those to judge by."""

    train: Tensor
    held_out: Tensor

    def __len__(self) -> int:
        return len(self.train) + len(self.held_out)


def fresh_rows(X: Views, landmarks: Views, dtype: torch.dtype) -> Tensor:
    """Numbers of the rows of X that are not landmarks, each distinct sample once.

    A landmark shows a map its own kernel value kappa(x, x), which no new sample ever does; a sample that occurs twice
    would be judged by what was fitted to it.
    """
    seen = set(digests(landmarks, dtype))
    fresh = []
    for row, digest in enumerate(digests(X, dtype)):
        if digest not in seen:
            fresh.append(row)
            seen.add(digest)
    return torch.tensor(fresh, dtype=torch.int64)


def hold_out(rows: Tensor, generator: torch.Generator) -> HeldOutSplit:
    """A random sixth of the rows, 500 at most and 2 at least, is held out."""
    order = _shuffled(rows, generator)
    n_held_out = min(MAX_HELD_OUT, max(2, round(HELD_OUT_SHARE * len(rows))))
    return HeldOutSplit(train=order[n_held_out:], held_out=order[:n_held_out])


def _shuffled(rows: Tensor, generator: torch.Generator) -> Tensor:
    if len(rows) < MIN_SAMPLES:
        raise DataError(
            f"fine-tuning needs at least {MIN_SAMPLES} different samples that are not landmarks, two to fit and two to "
            f"judge by, got {len(rows)}. Give more unlabelled samples, or fit with fewer landmarks."
        )
    return rows[torch.randperm(len(rows), generator=generator)]


def draw_pairs(n_samples: int, n_pairs: int, generator: torch.Generator) -> Tensor:
    """Pairs from S' x S', uniformly and with replacement; a sample may meet itself: (n_pairs, 2)."""
    return torch.randint(n_samples, (n_pairs, 2), generator=generator)


def find_rows(X: Views, among: Views, dtype: torch.dtype) -> Tensor:
    """For every row of X, the number of the last row of `among` that is the same sample, or -1: (n,)."""
    numbers = {digest: number for number, digest in enumerate(digests(among, dtype))}
    return torch.tensor([numbers.get(digest, -1) for digest in digests(X, dtype)], dtype=torch.int64)


def digests(X: Views, dtype: torch.dtype) -> Iterator[bytes]:
    """One digest of every row over all views, in whatever order, as numbers of a type; 0.0 and -0.0 are the same."""
    for rows in row_blocks(len(X), dtype.itemsize * X.shape[1], BLOCK_BYTES):
        block = X[rows]
        beside = torch.cat([block.tensor(name, dtype).cpu() + 0.0 for name in sorted(X.names)], dim=1).numpy()
        yield from (blake2b(row.tobytes(), digest_size=16).digest() for row in beside)
