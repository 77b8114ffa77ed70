"""A loss with two kinks, as narrow as one likes: a hard case for solvers that take any margin loss."""

from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True, eq=False)
class HuberizedHinge:
    """max over 0 <= a <= C of a (1 - m) - a^2 D / 2: the hinge whose dual has a number D, the width, on its diagonal.

    width : D, one for all samples, or one per sample, (n,)
    """

    width: float | np.ndarray

    def value(self, margins, box):
        dual = self._dual(margins, box)
        return dual * (1.0 - margins - 0.5 * self._width(margins) * dual)

    def slope(self, margins, box):
        return -self._dual(margins, box)

    def curvature(self, margins, box):
        dual = self._dual(margins, box)
        return torch.where((dual > 0.0) & (dual < box), 1.0 / self._width(margins), 0.0)

    def _dual(self, margins, box):
        return torch.minimum((1.0 - margins).clamp_min(0.0) / self._width(margins), box)

    def _width(self, margins):
        return torch.as_tensor(self.width, dtype=margins.dtype, device=margins.device)
