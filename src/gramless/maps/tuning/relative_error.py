"""The relative error between inner products and kernel values, off the diagonal, and its gradient.

The diagonal stays out: kappa(x, x) holds the flat tail of the spectrum, which no map of few columns can show on new
samples, and a fit that tries bends everything else.
"""

from __future__ import annotations

import torch
from torch import Tensor


def held_out_error(phi: Tensor, gram: Tensor) -> float:
    """Mean over pairs of different samples of |a - b| / (|a| + |b|), a = <phi, phi'>, b = kappa, in percent.

    n^2 n_components multiply-adds. A pair with a = b = 0 counts as 0.
    """
    approximate = phi @ phi.T
    size = approximate.abs().add_(gram.abs())
    errors = approximate.sub_(gram).abs_().div_(torch.where(size > 0, size, 1.0)).fill_diagonal_(0.0)
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
