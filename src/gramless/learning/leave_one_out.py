"""The leave-one-out error of kernel ridge regression in closed form, and its gradient with respect to the kernel.

With H = K + ridge I and P = H^-1, the sample that is left out misses its targets by e_i = (P Y)_i / P_ii, whatever the
number of targets: one factorisation stands for n fits. What is minimised is J = mean of e^2 over samples and targets.
With A = P Y, d = diag P and E = A / d,

    G = dJ / dE = 2 E / (n c)
    dJ / dA = G / d,  dJ / dd_i = - sum_c G_ic A_ic / d_i^2 = v_i
    dJ / dK = - (B A' + A B') / 2 - P diag(v) P  with  B = P (G / d),   dJ / dridge = trace of dJ / dK,

from dP = - P dK P. P is in float64, whatever type K has: n^3 operations. The gradient is in that of K. Its last term is
W W' with W = P diag(-v)^1/2, unless K is so far from p.s.d. that H is not: v has the sign of -d. Of both, one triangle
is computed on a CPU: n^3 operations for the second, and 4 n^2 c for the rest. Beside K there are two n x n matrices at
once, in float64, or of a K in float32 one of each type.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy.linalg import blas, lapack
from torch import Tensor

BLOCK = 128  # rows that are mirrored at once: they and their transpose stay in the cache


@dataclass(frozen=True, eq=False)
class LeaveOneOutError:
    """J, and its derivatives with respect to every kernel value and to the ridge."""

    value: float
    gradient: Tensor  # (n, n), symmetric, in the kernel's type
    ridge_gradient: float


def leave_one_out_residuals(gram: Tensor, targets: Tensor, ridge: float) -> Tensor:
    """What every sample, left out in turn, misses its targets by: (n, n_targets), in float64."""
    inverse = _inverse(gram, ridge)
    return (inverse @ targets) / inverse.diagonal()[:, None]


def leave_one_out_error(gram: Tensor, targets: Tensor, ridge: float) -> LeaveOneOutError:
    """J of kernel ridge regression on a Gram matrix (n, n), for targets (n, n_targets) of mean zero, in float64."""
    inverse = _inverse(gram, ridge)
    solution, diagonal = inverse @ targets, inverse.diagonal().clone()
    errors = solution / diagonal[:, None]
    slopes = errors * (2.0 / errors.numel())
    through_diagonal = -(slopes * solution).sum(1) / diagonal.square()
    through_solution = inverse @ (slopes / diagonal[:, None])
    by_ridge = (
        -(through_solution * solution).sum() - torch.linalg.vector_norm(inverse, dim=0).square() @ through_diagonal
    )
    scaled = inverse.mul_(through_diagonal.abs().sqrt()).to(gram.dtype)
    del inverse
    sides = through_solution.to(gram.dtype), solution.to(gram.dtype)
    if scaled.device.type == "cpu" and (diagonal > 0).all():
        gradient = _symmetric_products(scaled, *sides)
    else:
        gradient = torch.mm(scaled * -through_diagonal.sign().to(scaled.dtype), scaled.T)
        gradient.addmm_(sides[0], sides[1].T, alpha=-0.5).addmm_(sides[1], sides[0].T, alpha=-0.5)
    return LeaveOneOutError(errors.square().mean().item(), gradient, by_ridge.item())


def _symmetric_products(W: Tensor, B: Tensor, A: Tensor) -> Tensor:
    """W W' - (B A' + A B') / 2, for BLAS, whose matrices are stored by columns."""
    kind = "s" if W.dtype == torch.float32 else "d"
    rank_k, rank_2k = getattr(blas, f"{kind}syrk"), getattr(blas, f"{kind}syr2k")
    found = rank_k(1.0, W.numpy().T, trans=1, lower=1)
    found = rank_2k(-0.5, B.numpy().T, A.numpy().T, trans=1, lower=1, beta=1.0, c=found, overwrite_c=1)
    return _mirrored(torch.from_numpy(found.T))


def _inverse(gram: Tensor, ridge: float) -> Tensor:
    """(K + ridge I)^-1 by Cholesky's factors; where a kernel is not quite p.s.d. (tanh), by those of LU."""
    system = gram.to(torch.float64, copy=True)
    system.diagonal().add_(ridge)
    if system.device.type != "cpu":
        factor, failed = torch.linalg.cholesky_ex(system)
        return torch.linalg.inv(system) if failed.item() else torch.cholesky_inverse(factor)
    found, failed = lapack.dpotrf(system.numpy().T, lower=1, clean=0, overwrite_a=1)
    if not failed:
        found, failed = lapack.dpotri(found, lower=1, overwrite_c=1)
    if failed:
        system = gram.to(torch.float64, copy=True)
        system.diagonal().add_(ridge)
        return torch.linalg.inv(system)
    return _mirrored(torch.from_numpy(found.T))


def _mirrored(matrix: Tensor) -> Tensor:
    """A symmetric matrix of which the upper triangle is given, in its place."""
    for start in range(0, len(matrix), BLOCK):
        end = start + BLOCK
        matrix[end:, start:end] = matrix[start:end, end:].T
        block = matrix[start:end, start:end]
        block.copy_(block.triu() + block.triu(1).T)
    return matrix
