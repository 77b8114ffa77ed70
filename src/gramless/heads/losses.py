"""Losses of a margin m = y f(x), each with its box C_i: how much one sample may weigh at most.

Every function takes margins and a box that broadcast against each other, samples on the last axis, and costs a few
operations per margin. `slope` is the derivative in m; `curvature` the second one, with zero at the kinks' outer side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError


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


@dataclass(frozen=True, eq=False)
class HuberizedHinge:
    """The hinge loss whose dual has a number D_i, the width, added to its diagonal.

    The dual of a hinge SVM with Q_ij = y_i y_j <x_i, x_j> and that diagonal is

        maximise  sum_i a_i - 1/2 a'(Q + diag(D)) a,   0 <= a_i <= C_i,

    and since 1/2 a'Qa = max_w w'v - 1/2 |w|^2 with v = sum_i a_i y_i x_i, and max and min may change places,

        min_w  1/2 |w|^2 + sum_i max_{0 <= a <= C_i} [ a (1 - m_i) - a^2 D_i / 2 ],   m_i = y_i <w, x_i>.

    The bracket is largest at a = (1 - m) / D clipped to [0, C], which gives the loss of one sample:

        0                          for  m >= 1
        (1 - m)^2 / (2 D)          while  1 - m <= C D
        C (1 - m) - C^2 D / 2      beyond

    It tends to the hinge C max(0, 1 - m) as D falls to zero, and is the squared hinge of C' = 1 / (2 D) when C is
    infinite. Its slope is -a, so the dual's solution can be read off the margins.

    width : D, one positive number for all samples, or one per sample, (n,)
    """

    width: float | np.ndarray

    def __post_init__(self) -> None:
        width = np.asarray(self.width, dtype=float)
        if width.ndim > 1 or not np.isfinite(width).all() or (width <= 0).any():
            raise ValueError(
                f"width must be positive, one finite number or one per sample, got {self.width!r}. For the plain "
                "hinge, width 0, use LIBLINEAR's."
            )

    def value(self, margins: Tensor, box: Tensor) -> Tensor:
        dual = self._dual(margins, box)
        return dual * (_excess(margins) - 0.5 * self._width(margins) * dual)

    def slope(self, margins: Tensor, box: Tensor) -> Tensor:
        return -self._dual(margins, box)

    def curvature(self, margins: Tensor, box: Tensor) -> Tensor:
        dual = self._dual(margins, box)
        return torch.where((dual > 0.0) & (dual < box), 1.0 / self._width(margins), 0.0)

    def _dual(self, margins: Tensor, box: Tensor) -> Tensor:
        return torch.minimum(_excess(margins) / self._width(margins), box)

    def _width(self, margins: Tensor) -> Tensor:
        width = torch.as_tensor(self.width, dtype=margins.dtype, device=margins.device)
        if width.ndim and len(width) != margins.shape[-1]:
            raise DataError(f"there are {len(width)} widths for {margins.shape[-1]} samples.")
        return width


def _excess(margins: Tensor) -> Tensor:
    """By how much margins miss 1."""
    return (1.0 - margins).clamp_min(0.0)
