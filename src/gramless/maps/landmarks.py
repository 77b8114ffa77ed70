"""Choosing the landmarks S, by selectors that can be asked for by name. Landmarks can also be given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.support.budget import require
from gramless.views import Views

PROPOSALS = 64  # of randomly pivoted Cholesky, at once
EXHAUSTED = 1e-12  # share of the trace under which the residual is rounding
PILOT_FACTOR = 2


Selector = Callable[[DeepKernel, Views, int, torch.Generator, int], Tensor]
"""selector(kernel, X, n_landmarks, generator, budget) gives n_landmarks distinct row numbers of X."""


def uniform(kernel: DeepKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    """Drawn uniformly without replacement, as in the paper."""
    return torch.randperm(len(X), generator=generator)[:n_landmarks]


def kmeans(kernel: DeepKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    """The sample nearest to each k-means centre of all views side by side.

    Every view is scaled to unit mean squared norm, so that none rules by its units. Samples are taken, not centres:
    a centre need not be a possible sample.
    """
    n_rows, n_features = X.shape
    require(
        4.0 * n_rows * n_features,
        budget,
        what=f"k-means on {n_rows:,} samples of {n_features:,} features",
        remedy="Choose landmarks='uniform', fit on a subsample, or raise memory_budget.",
    )
    blocks = [X.tensor(name, torch.float32) for name in X.names]
    scaled = [block / max(block.square().sum(1).mean().sqrt().item(), 1e-30) for block in blocks]
    samples = torch.cat(scaled, dim=1).numpy()
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    clusters = MiniBatchKMeans(n_landmarks, n_init=1, random_state=seed).fit(samples)
    nearest = pairwise_distances_argmin(clusters.cluster_centers_, samples)
    chosen = torch.from_numpy(np.unique(nearest)).long()
    return top_up(chosen, n_rows, n_landmarks, generator)


def rpcholesky(kernel: DeepKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    """Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2024).

    Each landmark is drawn with probability proportional to what the ones before it leave unexplained.

    K is approximated by F F', one column of F per landmark; the residual diagonal d_i = K_ii - |F_i|^2 is the
    distribution of the next. Proposals come in blocks, so that kernel columns do, and are thinned by rejection to
    exactly that distribution (Epperly, Tropp and Webber, 2024, "Embrace rejection").
    Costs n N kernel values, n N^2 multiply-adds and 8 n N bytes.
    """
    n_rows = len(X)
    require(
        8.0 * n_rows * n_landmarks,
        budget,
        what=f"randomly pivoted Cholesky with {n_landmarks} landmarks on {n_rows:,} samples",
        remedy="Choose landmarks='uniform', fit on a subsample, or raise memory_budget.",
    )
    residual = kernel.diagonal_tensor(X).double().cpu()
    enough = EXHAUSTED * residual.sum()
    factor = torch.zeros(n_rows, n_landmarks, dtype=torch.float64)
    chosen = torch.empty(0, dtype=torch.long)
    while len(chosen) < n_landmarks and residual.sum() > enough:
        done = factor[:, : len(chosen)]
        proposals = torch.multinomial(residual, PROPOSALS, replacement=True, generator=generator)
        columns = kernel.tensor(X, X[proposals]).double().cpu() - done @ done[proposals].T  # (n, block)
        accepted, triangle = thin(columns[proposals], residual[proposals], generator)
        if not len(accepted):  # exact arithmetic always accepts the first proposal: what is left is rounding
            break
        accepted = accepted[: n_landmarks - len(chosen)]
        triangle = triangle[: len(accepted), : len(accepted)]
        new = torch.linalg.solve_triangular(triangle, columns[:, accepted].T, upper=False).T
        factor[:, len(chosen) : len(chosen) + len(accepted)] = new
        chosen = torch.cat([chosen, proposals[accepted]])
        residual = (residual - new.square().sum(1)).clamp_min_(0.0)
        residual[chosen] = 0.0
    return top_up(chosen, n_rows, n_landmarks, generator)


def leverage(kernel: DeepKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    """By approximate ridge leverage scores (Alaoui and Mahoney, 2015).

    Drawn without replacement, with probability proportional to the ridge leverage score of each sample.

    Scores are estimated from a uniform pilot of twice as many samples; the ridge is the one at which the pilot's
    effective dimension is half its size.
    """
    n_pilot = min(PILOT_FACTOR * n_landmarks, len(X))
    require(
        8.0 * n_pilot * (len(X) + 3 * n_pilot),
        budget,
        what=f"leverage scores of {len(X):,} samples from a pilot of {n_pilot:,}",
        remedy="Choose landmarks='uniform', use fewer landmarks, or raise memory_budget.",
    )
    pilot = X[uniform(kernel, X, n_pilot, generator, budget)]
    gram = kernel.tensor(pilot, pilot).double().cpu()
    columns = kernel.tensor(X, pilot).double().cpu()
    ridge = half_dimension_ridge(gram) * len(X) / n_pilot
    scores = leverage_scores(kernel.diagonal_tensor(X).double().cpu(), columns, gram, ridge)
    likely = scores > 0
    n_drawn = min(n_landmarks, int(likely.sum()))
    chosen = torch.multinomial(scores, n_drawn, generator=generator) if n_drawn else likely.nonzero()[:, 0]
    return top_up(chosen, len(X), n_landmarks, generator)


SELECTORS: dict[str, Selector] = {
    "uniform": uniform,
    "kmeans": kmeans,
    "rpcholesky": rpcholesky,
    "leverage": leverage,
}
"""Selectors that can be asked for by name."""


def top_up(chosen: Tensor, n_rows: int, n_landmarks: int, generator: torch.Generator) -> Tensor:
    """Fill up with rows drawn uniformly among those not chosen, for data with too few distinct samples."""
    if len(chosen) >= n_landmarks:
        return chosen[:n_landmarks]
    free = torch.ones(n_rows, dtype=torch.bool)
    free[chosen] = False
    unused = free.nonzero()[:, 0]
    drawn = unused[torch.randperm(len(unused), generator=generator)[: n_landmarks - len(chosen)]]
    return torch.cat([chosen, drawn])


def thin(block: Tensor, proposed: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Accept proposal i with probability (its residual now) / (its residual when proposed).

    `block` holds the residual kernel among the proposals. Returns the accepted positions and the lower triangular
    Cholesky factor of the block restricted to them.
    """
    block = block.clone()
    chances = torch.rand(len(block), generator=generator, dtype=torch.float64)
    accepted: list[int] = []
    columns: list[Tensor] = []
    for i in range(len(block)):
        if chances[i] * proposed[i] < block[i, i]:
            column = block[:, i] / block[i, i].sqrt()
            column[:i] = 0.0
            block -= column[:, None] * column
            accepted.append(i)
            columns.append(column)
    positions = torch.tensor(accepted, dtype=torch.long)
    triangle = torch.stack(columns, dim=1)[positions] if columns else block.new_zeros(0, 0)
    return positions, triangle


def leverage_scores(diagonal: Tensor, columns: Tensor, pilot_gram: Tensor, ridge: float) -> Tensor:
    """[K (K + ridge)^-1]_ii, estimated as (k_ii - k_iJ (K_JJ + ridge |J| / n)^-1 k_Ji) / ridge; exact if J is all."""
    n_rows, n_pilot = columns.shape
    eigenvalues, vectors = torch.linalg.eigh(pilot_gram)  # not Cholesky: tanh and rounding leave negative eigenvalues
    shifted = eigenvalues.clamp_min(0.0) + ridge * n_pilot / n_rows
    whitened = columns @ (vectors / shifted.sqrt())  # (n, |J|)
    return ((diagonal - whitened.square().sum(1)) / ridge).clamp_min_(0.0)


def half_dimension_ridge(gram: Tensor) -> float:
    """The ridge r at which sum_j s_j / (s_j + r) is half the number of eigenvalues s_j: their median, roughly.

    Kept away from zero, where a singular Gram matrix would be inverted.
    """
    eigenvalues = torch.linalg.eigvalsh(gram).clamp_min_(0.0)
    low, high = 1e-8 * eigenvalues.max().item() + 1e-300, eigenvalues.max().item() + 1e-300
    for _ in range(60):
        middle = low**0.5 * high**0.5
        too_small = (eigenvalues / (eigenvalues + middle)).sum() > len(gram) / 2
        low, high = (middle, high) if too_small else (low, middle)
    return high
