"""What learning minimises: the optimal value of the SVM duals of all labels, as a function of the kernel.

With K scaled to a unit spread, J(K) = sum over labels of max_alpha D(alpha; K). By Danskin's theorem its gradient is
that of D at the maximiser, dJ / dK = -1/2 sum over labels of v v', where f = K v + bias is the label's classifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from gramless.learning.svm_dual import DualSolution, solve_svm_duals

ROUNDINGS = 16  # of a kernel value on its way through the layers


@dataclass(frozen=True, eq=False)
class Optimum:
    """J, and the classifiers at which it is attained."""

    value: float
    expansions: Tensor  # (n_labels, n): v, coefficients over all samples
    bias: Tensor  # (n_labels,)
    solution: DualSolution


class Objective(Protocol):
    """A function of the Gram matrix of all samples, labelled ones first."""

    def optimum(self, gram: Tensor, start: Tensor | None) -> Optimum: ...


@dataclass(frozen=True, eq=False)
class SupervisedObjective:
    """The plain SVM: all samples are labelled."""

    signs: Tensor  # (n_labels, n)
    upper: Tensor  # (n_labels, n)
    gap: float

    def optimum(self, gram: Tensor, start: Tensor | None) -> Optimum:
        solution = solve_svm_duals(gram, self.signs, self.upper, gap=self.gap, start=start)
        return Optimum(solution.values.sum().item(), solution.coefficients, solution.bias, solution)


@dataclass(frozen=True, eq=False)
class LaplacianObjective:
    """The Laplacian SVM (Belkin, Niyogi and Sindhwani, 2006): f is also asked to be smooth on a graph of all samples.

    Adding strength f'Lf to |f|^2 changes the kernel to (K^-1 + strength L)^-1 = K (I + strength L K)^-1, and the
    labelled samples' SVM on that one has the expansion v = (I + strength L K)^-1 J'(y alpha) over all samples, J
    picking the labelled ones. dJ / dK is again -1/2 v v'. One n x n factorisation per evaluation.
    """

    signs: Tensor  # (n_labels, n_labelled)
    upper: Tensor  # (n_labels, n_labelled)
    gap: float
    laplacian: Tensor  # (n, n)
    strength: float

    def optimum(self, gram: Tensor, start: Tensor | None) -> Optimum:
        n_labelled = self.signs.shape[1]
        system = self.strength * (self.laplacian @ gram)
        system.diagonal().add_(1.0)
        factors = torch.linalg.lu_factor(system)
        identity = torch.eye(len(gram), n_labelled, dtype=gram.dtype, device=gram.device)
        smoothing = torch.linalg.lu_solve(*factors, identity)  # (n, n_labelled): (I + strength L K)^-1 J'
        deformed = gram[:n_labelled] @ smoothing
        deformed = ((deformed + deformed.T) / 2).contiguous()
        solution = solve_svm_duals(deformed, self.signs, self.upper, gap=self.gap, start=start)
        expansions = solution.coefficients @ smoothing.T
        return Optimum(solution.values.sum().item(), expansions, solution.bias, solution)


def spread(gram: Tensor) -> Tensor:
    """Mean diagonal less mean, in float64: the scale of a kernel that an SVM with a free bias meets.

    1 where it is nothing but rounding: to such a kernel all samples are the same, and it has no scale.
    """
    found = gram.diagonal().mean(dtype=torch.float64) - gram.mean(dtype=torch.float64)
    kind = torch.finfo(gram.dtype)
    rounding = (ROUNDINGS * kind.eps * gram.abs().max()).clamp_min(1e3 * kind.tiny)
    return torch.where(found > rounding, found, 1.0)


def neighbour_laplacian(squared_distances: Tensor, n_neighbours: int) -> Tensor:
    """I - D^-1/2 W D^-1/2 of the symmetric k-nearest-neighbour graph with heat-kernel weights: (n, n).

    W_ij = exp(-d_ij^2 / width^2), where the width is the mean distance to the neighbours; 0 where neither of i and j is
    among the k nearest of the other.
    """
    n = len(squared_distances)
    k = min(n_neighbours, n - 1)
    others = squared_distances.clone()
    others.fill_diagonal_(torch.inf)
    nearest = others.topk(k, dim=1, largest=False)
    width = nearest.values.clamp_min(0.0).sqrt().mean()
    weights = torch.zeros_like(squared_distances)
    heat = torch.exp(-nearest.values.clamp_min(0.0) / width.square().clamp_min(torch.finfo(width.dtype).tiny))
    weights.scatter_(1, nearest.indices, heat)
    weights = torch.maximum(weights, weights.T)
    degrees = weights.sum(1)
    roots = torch.where(degrees > 0, degrees, 1.0).rsqrt()
    laplacian = -roots[:, None] * weights * roots
    laplacian.diagonal().add_((degrees > 0).to(laplacian))
    return laplacian


def kernel_distances(gram: Tensor) -> Tensor:
    """|phi(x) - phi(z)|^2 = k(x, x) + k(z, z) - 2 k(x, z)."""
    diagonal = gram.diagonal()
    return (diagonal[:, None] + diagonal - 2.0 * gram).clamp_min_(0.0)
