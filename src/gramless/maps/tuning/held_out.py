"""What ways of tuning share: which samples are held out, the relative error on them, and the best result so far.

The error is over pairs of different samples: kappa(x, x) holds the flat tail of the spectrum, which no map of few
columns can show on new samples, and a fit that tries bends everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.maps import DeepMap
from gramless.metrics.approximation import pairwise_relative_error
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
    if len(rows) < MIN_SAMPLES:
        raise DataError(
            f"fine-tuning needs at least {MIN_SAMPLES} different samples that are not landmarks, two to fit and two to "
            f"judge by, got {len(rows)}. Give more unlabelled samples, or fit with fewer landmarks."
        )
    order = rows[torch.randperm(len(rows), generator=generator)]
    n_held_out = min(MAX_HELD_OUT, max(2, round(HELD_OUT_SHARE * len(rows))))
    return HeldOutSplit(train=order[n_held_out:], held_out=order[:n_held_out])


def find_rows(X: Views, among: Views, dtype: torch.dtype) -> Tensor:
    """For every row of X, the number of the last row of `among` that is the same sample, or -1: (n,)."""
    numbers = {digest: number for number, digest in enumerate(digests(among, dtype))}
    return torch.tensor([numbers.get(digest, -1) for digest in digests(X, dtype)], dtype=torch.int64)


def digests(X: Views, dtype: torch.dtype, targets: np.ndarray | None = None) -> Iterator[bytes]:
    """One digest of every row over all views, in whatever order, as numbers of a type; 0.0 and -0.0 are the same.

    targets : (n,) or (n, n_targets), that belong to the samples
    """
    for rows in row_blocks(len(X), dtype.itemsize * X.shape[1], BLOCK_BYTES):
        block = X[rows]
        beside = [block.tensor(name, dtype).cpu().numpy() for name in sorted(X.names)]
        beside += [] if targets is None else [targets[rows].reshape(len(block), -1)]
        numbers = np.hstack(beside) + 0.0
        yield from (blake2b(row.tobytes(), digest_size=16).digest() for row in numbers)


def held_out_error(phi: Tensor, gram: Tensor) -> float:
    """Mean over pairs of different samples of |a - b| / (|a| + |b|), a = <phi, phi'>, b = kappa, in percent.

    n^2 n_components multiply-adds. A pair with a = b = 0 counts as 0.
    """
    errors = pairwise_relative_error(phi @ phi.T, gram).fill_diagonal_(0.0)
    n = len(phi)
    return 100.0 * errors.sum(dtype=torch.float64).item() / (n * (n - 1))


def error_gradient(phi: Tensor, gram: Tensor) -> Tensor:
    """The gradient of that mean (not in percent) with respect to phi: (n, n_components).

    With r(a, b) = |a - b| / (|a| + |b|) and G = dr/da off the diagonal, 0 on it, it is 2 G phi / (n (n - 1)):

        dr/da = sign(a - b) / (|a| + |b|) - sign(a) |a - b| / (|a| + |b|)^2

    2 n^2 n_components multiply-adds.
    """
    approximate = phi @ phi.T
    size = approximate.abs() + gram.abs()
    size = torch.where(size > 0, size, 1.0)
    gap = approximate - gram
    slope = gap.sign().sub_(approximate.sign().mul_(gap.abs_().div_(size))).div_(size).fill_diagonal_(0.0)
    n = len(phi)
    return (slope @ phi).mul_(2.0 / (n * (n - 1)))


@dataclass(frozen=True, eq=False)
class TuningResult:
    """A map that is at least as close to its kernel on held-out samples as the one that was given.

    Errors are relative errors in percent over all pairs of different held-out samples, which nothing was fitted to.
    Where nothing better was found, `map` is the very map that was given and both errors are the same.
    """

    map: DeepMap
    error_before: float
    error_after: float
    curve: list[tuple[int, float]]  # (iteration, held-out error), as the search went
    n_tuning: int  # samples that were used, held-out ones included


class BestSoFar:
    """The lowest held-out error yet, and the way there."""

    def __init__(self, error: float) -> None:
        self.error = error
        self.curve = [(0, error)]

    def offer(self, error: float, iteration: int) -> bool:
        """Note the error after so many iterations; whether it is lower than any before."""
        self.curve.append((iteration, error))
        if not error < self.error:
            return False
        self.error = error
        return True
