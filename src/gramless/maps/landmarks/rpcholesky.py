"""Landmarks by randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2024)."""

import torch
from torch import Tensor

from gramless.maps.landmarks.base import PairwiseKernel, top_up
from gramless.support.budget import require
from gramless.views import Views

BLOCK = 64
EXHAUSTED = 1e-12  # share of the trace under which the residual is rounding


def rpcholesky(kernel: PairwiseKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    """Each landmark is drawn with probability proportional to what the ones before it leave unexplained.

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
        proposals = torch.multinomial(residual, BLOCK, replacement=True, generator=generator)
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
