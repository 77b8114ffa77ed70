"""Random Fourier features of the Gaussian and Laplacian kernels (Rahimi and Recht, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import torch
from torch import Generator, Tensor

from gramless.kernels import Gaussian, Kernel, Laplacian
from gramless.maps.explicit.base import Bounds, ExplicitMap, MapRecipe
from gramless.support.budget import require
from gramless.support.checks import Constraints, whole
from gramless.support.config import current_budget


@dataclass(frozen=True)
class Fourier(MapRecipe):
    """Frequencies drawn from the kernel's spectrum; the error falls as 1 / sqrt(n_frequencies)."""

    n_frequencies: int = 500

    _parameter_constraints: ClassVar[Constraints] = {"n_frequencies": [whole(1)]}

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> FourierMap:
        require(
            2 * 8.0 * landmarks.shape[1] * self.n_frequencies,
            current_budget(),
            what=f"{self.n_frequencies:,} random frequencies of {landmarks.shape[1]:,} features",
            remedy="Use fewer frequencies, or raise memory_budget.",
        )
        shape = (landmarks.shape[1], self.n_frequencies)
        frequencies = torch.empty(shape, dtype=torch.float64)
        if isinstance(kernel, Gaussian):
            frequencies.normal_(generator=generator)
        elif isinstance(kernel, Laplacian):
            frequencies.cauchy_(generator=generator)
        else:
            raise TypeError(f"random Fourier features exist for gaussian and laplacian, not for {kernel.name}.")
        return FourierMap(kernel, (frequencies / kernel.width).to(landmarks))


@dataclass(frozen=True, eq=False)
class FourierMap(ExplicitMap):
    """(cos <w, x>, sin <w, x>) / sqrt(D) over D frequencies w: the diagonal is exactly 1."""

    kernel: Gaussian | Laplacian
    frequencies: Tensor  # (d, n_frequencies)

    @property
    def n_columns(self) -> int:
        return 2 * self.frequencies.shape[1]

    def transform(self, x: Tensor) -> Tensor:
        phases = x @ self.frequencies.to(x)
        return torch.cat([phases.cos(), phases.sin()], dim=1).mul_(1 / sqrt(self.frequencies.shape[1]))
