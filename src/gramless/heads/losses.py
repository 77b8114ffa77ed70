"""Losses of a margin m = y f(x), each with its box C_i: how much one sample may weigh at most.

Every function takes margins and a box that broadcast against each other, samples on the last axis, and costs a few
operations per margin. `slope` is the derivative in m; `curvature` the second one, with zero at the kinks' outer side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class MarginLoss(Protocol):
    """Convex, least at a margin of 1, and once differentiable."""

    def value(self, margins: Tensor, box: Tensor) -> Tensor: ...

    def slope(self, margins: Tensor, box: Tensor) -> Tensor: ...

    def curvature(self, margins: Tensor, box: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class SquaredHinge:
    """LIBLINEAR's C_i max(0, 1 - m)^2."""

    def value(self, margins: Tensor, box: Tensor) -> Tensor:
        return box * _excess(margins).square()

    def slope(self, margins: Tensor, box: Tensor) -> Tensor:
        return -2.0 * box * _excess(margins)

    def curvature(self, margins: Tensor, box: Tensor) -> Tensor:
        return torch.where(margins < 1.0, 2.0 * box, 0.0)


@dataclass(frozen=True)
class LeastSquares:
    """Ridge regression's C_i (1 - m)^2, which is C_i (y - f)^2 for signs y; it rises again from a margin of 1 on."""

    def value(self, margins: Tensor, box: Tensor) -> Tensor:
        return box * (1.0 - margins).square()

    def slope(self, margins: Tensor, box: Tensor) -> Tensor:
        return -2.0 * box * (1.0 - margins)

    def curvature(self, margins: Tensor, box: Tensor) -> Tensor:
        return (2.0 * box).expand_as(margins)


def _excess(margins: Tensor) -> Tensor:
    """By how much margins miss 1."""
    return (1.0 - margins).clamp_min(0.0)
