"""f(v) of an elementary kernel: the pointwise functions that every evaluator has, here for tensors of any type.

Their numbers are compiled in: `engine/cpu/caching.py` has this file in its key.
"""

from __future__ import annotations

from enum import IntEnum
from math import pi

import torch
from torch import Tensor

WIDEST_COSINE = 1 - 1e-6  # beyond it slopes are zero: that of an angle is infinite where it vanishes


class Operation(IntEnum):
    """f(v), some with an exponent."""

    POWER = 0  # v^exponent, a whole number >= 1
    EXPONENTIAL = 1  # exp(min(v, 0))
    ARC_COSINE_0 = 2  # of the angle whose cosine is v, clipped to [-1, 1]: 1 - angle / pi
    ARC_COSINE_1 = 3  # (sin + (pi - angle) cos) / pi
    ARC_COSINE_2 = 4  # (3 sin cos + (pi - angle) (1 + 2 cos^2)) / pi
    NONPOSITIVE = 5  # min(v, 0)
    INVERSE_POWER = 6  # (1 + max(v, 0))^-exponent, a positive number


def operate(operation: Operation, v: Tensor, exponent: float = 1.0) -> Tensor:
    """f(v), with gradients where v has them."""
    if operation is Operation.POWER:
        return v if exponent == 1 else v ** int(exponent)
    if operation is Operation.EXPONENTIAL:
        return v.clamp_max(0.0).exp()
    if operation is Operation.NONPOSITIVE:
        return v.clamp_max(0.0)
    if operation is Operation.INVERSE_POWER:
        return (-exponent * v.clamp_min(0.0).log1p()).exp()
    exact = _angular(operation, v.detach().clamp(-1.0, 1.0))
    if not v.requires_grad:
        return exact
    inside = _angular(operation, v.clamp(-WIDEST_COSINE, WIDEST_COSINE))
    return inside + (exact - inside.detach())


def _angular(operation: Operation, cosine: Tensor) -> Tensor:
    angle = cosine.arccos()
    if operation is Operation.ARC_COSINE_0:
        return 1.0 - angle / pi
    sine = (1.0 - cosine.square()).clamp_min(0.0).sqrt()
    if operation is Operation.ARC_COSINE_1:
        return (sine + (pi - angle) * cosine) / pi
    return (3.0 * sine * cosine + (pi - angle) * (1.0 + 2.0 * cosine.square())) / pi


def inverse_root(values: Tensor) -> Tensor:
    """values^(-1/2), and 0 where a value is 0 (a sample without any content is similar to nothing)."""
    return torch.where(values > 0, values, torch.inf).rsqrt()
