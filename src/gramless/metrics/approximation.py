"""How close a map's inner products are to the kernel: the paper's relative error RE (section 5).

Of all pairs; or, on data of any size, of pairs of a sample, with a confidence interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from gramless.blocks import Blocks, in_blocks, lies_elsewhere
from gramless.deep_kernel import DeepKernel
from gramless.errors import DataError
from gramless.support.budget import require, row_blocks
from gramless.support.checks import Constraints, Interval, check_arguments, whole
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views.arrays import as_tensor


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
    phi = transformer.transform(X)
    phi = phi if isinstance(phi, Tensor) else as_tensor(np.asarray(phi))
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


FEWEST = 10  # samples, below which a spread says nothing
ALLOWED: Constraints = {
    "n_samples": [whole(FEWEST)],
    "confidence": [Interval(Real, 0, 1, closed="neither")],
    "seed": [whole(0)],
}


@dataclass(frozen=True)
class Estimate:
    """A figure in percent, and the interval that holds the true one with that confidence."""

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return f"{self.value:.3g} % ({self.confidence:.0%} confidence: {self.low:.3g} to {self.high:.3g})"


def sampled_relative_error(
    transformer: Transformer,
    kernel: DeepKernel,
    X: Any,
    n_samples: int = 2_000,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """`relative_error` of all pairs of X, estimated from all pairs of a sample drawn at random.

    With e_ij the error of a pair and s samples of n, the mean over pairs i != j is a U-statistic: unbiased, although
    its pairs share samples. Its variance comes from leaving out one sample at a time (Arvesen's jackknife),

        U_-i = (s (s - 1) U - 2 sum_j e_ij) / ((s - 1) (s - 2)),    var U = (s - 1) / s  sum_i (U_-i - mean U_-i)^2,

    times 1 - s / n, because the sample is drawn without replacement. A pair of a sample with itself, which is one in n,
    is added with its own mean. s^2 / 2 kernel values; X is read once, in blocks if it is in blocks.
    """
    check_compared(transformer, kernel)
    check_arguments("sampled_relative_error", ALLOWED, n_samples=n_samples, confidence=confidence, seed=seed)
    require(
        3 * 8 * n_samples**2,
        current_budget(),
        what=f"all pairs of {n_samples:,} samples",
        remedy="Take fewer samples, or raise memory_budget.",
    )
    blocks = X if isinstance(X, Blocks) else in_blocks(X if lies_elsewhere(X) else _arrays(kernel, X))
    drawn = blocks.match(kernel.layout).sample(n_samples, seed)
    if len(drawn) < FEWEST:
        raise DataError(f"got {len(drawn)} samples, too few to tell a spread: at least {FEWEST} are needed.")
    views = drawn.views
    phi = torch.as_tensor(np.asarray(transformer.transform(views)))
    errors = pairwise_relative_error(phi @ phi.T, kernel.tensor(views, views).cpu().to(phi.dtype)).double()
    n_all = len(drawn) if len(drawn) < n_samples else blocks.n_samples or math.inf  # an iterator does not tell
    return _estimate(errors, 1.0 / n_all, confidence)


def _estimate(errors: Tensor, share: float, confidence: float) -> Estimate:
    """share : of one sample among all"""
    s = len(errors)
    own = errors.diagonal()
    of_each = errors.sum(1) - own
    among = of_each.sum() / (s * (s - 1))
    without = (s * (s - 1) * among - 2 * of_each) / ((s - 1) * (s - 2))
    variance = (s - 1) / s * (without - without.mean()).square().sum() * max(0.0, 1 - s * share)
    value = 100.0 * ((1 - share) * among + share * own.mean()).item()
    reach = 100.0 * float(stats.t.ppf((1 + confidence) / 2, s - 1)) * variance.sqrt().item()
    return Estimate(value, max(0.0, value - reach), value + reach, confidence)


def _arrays(kernel: DeepKernel, X: Any) -> dict[str, Any]:
    views = kernel.views(X)
    return {name: views[name] for name in views.names}
