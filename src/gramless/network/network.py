"""A deep kernel network as a description: what there is to evaluate."""

from __future__ import annotations

from dataclasses import dataclass

from gramless.network.inputs import ViewKernel
from gramless.network.layer import Layer


@dataclass(frozen=True, eq=False)
class Network:
    """kappa(x, z) = scale g_L(W_L ... g_2(W_2 k(x, z))) over elementary kernels k."""

    inputs: tuple[ViewKernel, ...]
    layers: tuple[Layer, ...]
    scale: float = 1.0

    @property
    def views(self) -> list[str]:
        """The views that the elementary kernels are on, each once."""
        return list(dict.fromkeys(entry.view for entry in self.inputs))
