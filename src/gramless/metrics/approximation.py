"""How close a map's inner products are to the kernel: the paper's relative error RE (section 5)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.support.budget import row_blocks
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar


class Transformer(Protocol):
    """Anything with a transform: a fitted DeepMapNetwork, a pipeline, a Nystroem."""

    def transform(self, X: Any) -> Any: ...


def relative_error(transformer: Transformer, kernel: DeepKernel, X: Any) -> float:
    """Mean over all pairs (x, z) of X of |a - b| / (|a| + |b|) in percent, a = <phi(x), phi(z)>, b = kappa(x, z).

    Streams over blocks of pairs, so any |X| works: |X|^2 / 2 kernel values are computed and no more than a block is
    kept, beside phi(X). A pair with a = b = 0 counts as 0.
    """
    check_compared(transformer, kernel)
    X = kernel.views(X)
    budget = current_budget()
    phi = _tensor(transformer.transform(X))
    n = len(X)
    side = max(1, int((budget / 4 / (8 * 4)) ** 0.5))
    blocks = list(row_blocks(n, 1, min(side, 2048)))
    total = 0.0
    with ProgressBar("relative error", n * n / 2) as progress:
        for i, rows in enumerate(blocks):
            for columns in blocks[i:]:
                exact = kernel.tensor(X[rows], X[columns])
                approximate = phi[rows] @ phi[columns].T
                errors = pairwise_relative_error(approximate, exact)
                total += errors.sum(dtype=torch.float64).item() * (1 if rows == columns else 2)
                progress.advance(errors.numel() / (2 if rows == columns else 1))
    return 100.0 * total / n**2


def check_compared(transformer: Any, kernel: Any) -> None:
    """Whether these are a map and a kernel."""
    if not hasattr(transformer, "transform") or not isinstance(kernel, DeepKernel):
        raise TypeError(
            "a relative error is that of a transformer, with a transform method, from a DeepKernel; got "
            f"{type(transformer).__name__} and {type(kernel).__name__}."
        )


def pairwise_relative_error(a: Tensor, b: Tensor) -> Tensor:
    """|a - b| / (|a| + |b|) entry by entry, 0 where both are 0."""
    size = a.abs() + b.abs()
    return (a - b).abs_().div_(torch.where(size > 0, size, 1.0))


def _tensor(phi: Any) -> Tensor:
    return phi if isinstance(phi, Tensor) else torch.from_numpy(np.ascontiguousarray(phi))
