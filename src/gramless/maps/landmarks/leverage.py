"""Landmarks by approximate ridge leverage scores (Alaoui and Mahoney, 2015)."""

import torch
from torch import Tensor

from gramless.maps.landmarks.base import PairwiseKernel, top_up
from gramless.maps.landmarks.uniform import uniform
from gramless.support.budget import require
from gramless.views import Views

PILOT_FACTOR = 2


def leverage(kernel: PairwiseKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    """Drawn without replacement, with probability proportional to the ridge leverage score of each sample.

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
