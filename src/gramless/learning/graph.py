"""The neighbourhood graph of semi-supervised learning, and its Laplacian."""

from __future__ import annotations

import torch
from torch import Tensor


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
