"""The leave-one-out error of kernel ridge regression in closed form, and its gradient with respect to the kernel.

With H = K + ridge I and P = H^-1, the sample that is left out misses its targets by e_i = (P Y)_i / P_ii, whatever the
number of targets: one factorisation stands for n fits. What is minimised is J = mean of e^2 over samples and targets.
With A = P Y, d = diag P and E = A / d,

    G = dJ / dE = 2 E / (n c)
    dJ / dA = G / d,  dJ / dd_i = - sum_c G_ic A_ic / d_i^2 = v_i
    dJ / dK = - (B A' + A B') / 2 - P diag(v) P  with  B = P (G / d),   dJ / dridge = trace of dJ / dK,

from dP = - P dK P. n^3 operations for P, 2 n^3 for the last product, 4 n^2 c for the rest; three n x n matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LeaveOneOutError:
    """J, and its derivatives with respect to every kernel value and to the ridge."""

    value: float
    gradient: Tensor  # (n, n), symmetric
    ridge_gradient: float


def leave_one_out_residuals(gram: Tensor, targets: Tensor, ridge: float) -> Tensor:
    """What every sample, left out in turn, misses its targets by: (n, n_targets)."""
    inverse = _inverse(gram, ridge)
    return (inverse @ targets) / inverse.diagonal()[:, None]


def leave_one_out_error(gram: Tensor, targets: Tensor, ridge: float) -> LeaveOneOutError:
    """J of kernel ridge regression on a Gram matrix (n, n), for targets (n, n_targets) of mean zero."""
    inverse = _inverse(gram, ridge)
    solution, diagonal = inverse @ targets, inverse.diagonal().clone()
    errors = solution / diagonal[:, None]
    slopes = errors * (2.0 / errors.numel())
    through_diagonal = -(slopes * solution).sum(1) / diagonal.square()
    through_solution = inverse @ (slopes / diagonal[:, None])
    gradient = torch.mm(inverse * through_diagonal, inverse)
    gradient.addmm_(through_solution, solution.T)  # one side; the mean of both sides is symmetric
    gradient = gradient.add_(gradient.T.clone()).mul_(-0.5)
    return LeaveOneOutError(errors.square().mean().item(), gradient, gradient.diagonal().sum().item())


def _inverse(gram: Tensor, ridge: float) -> Tensor:
    """(K + ridge I)^-1 by Cholesky's factors; where a kernel is not quite p.s.d. (tanh), by those of LU."""
    system = gram.clone()
    system.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(system)
    return torch.linalg.inv(system) if failed.item() else torch.cholesky_inverse(factor)
