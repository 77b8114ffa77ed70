"""The layered DMN: every layer of the DKN unfolded into three sub-layers, as the paper builds it (section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device, finite
from gramless.maps.explicit import ExplicitMap
from gramless.maps.sublayers import MapLayer
from gramless.support.budget import row_blocks
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views import Views


class LayeredMap(nn.Module):
    """Input maps phi_q^(1), then layers of sub-layers, the last with a single unit whose map is the output.

    Per sample and layer: n_inputs N columns for the inner products, n_units n_inputs N for their weighting and
    n_units N n_components for the projections.
    """

    def __init__(
        self,
        kernel: DeepKernel,
        input_maps: Sequence[ExplicitMap],
        layers: Sequence[MapLayer],
        clipped_mass: Sequence[Sequence[float]],
        clipped_norm: Sequence[Sequence[float]],
        dtype: torch.dtype,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.input_maps = list(input_maps)
        self.layers = nn.ModuleList(layers)
        self.clipped_mass = [list(units) for units in clipped_mass]
        self.clipped_norm = [list(units) for units in clipped_norm]
        self.dtype = dtype

    @property
    def map_layers(self) -> list[MapLayer]:
        return cast(list[MapLayer], list(self.layers))

    @property
    def n_components(self) -> int:
        return self.map_layers[-1].project.projections[0].shape[1]

    def responses(self, X: Views) -> Tensor:
        """The output kernel against the landmarks, before the last projection: (n, N)."""
        return self._blocks(X, project=False).mul_(self.kernel.scale)

    def transform(self, X: Views) -> Tensor:
        """phi(x): (n, n_components), where the caller's data lies."""
        return self._blocks(X, project=True)

    def _blocks(self, X: Views, *, project: bool) -> Tensor:
        device = choose_device(X)
        self.to(device=device, dtype=self.dtype)
        place = X.torch_device or torch.device("cpu")
        blocks = []
        with ProgressBar("layered deep map", len(X)) as progress:
            for rows in row_blocks(len(X), self.row_bytes, current_budget() // 2):
                blocks.append(self._block(X[rows], device, project=project).to(place))
                progress.advance(rows.stop - rows.start)
        return finite(torch.cat(blocks))

    def _block(self, X: Views, device: torch.device, *, project: bool) -> Tensor:
        maps = [
            input_map.compress(X.tensor(entry.view, self.dtype, device))
            for entry, input_map in zip(self.kernel.inputs, self.input_maps, strict=True)
        ]
        return self.from_input_maps(maps, project=project)

    def from_input_maps(self, maps: Sequence[Tensor], *, project: bool = True) -> Tensor:
        """The output map from phi_q^(1)(x) of every elementary kernel q."""
        *hidden, last = self.map_layers
        for layer in hidden:
            maps = layer(maps)
        responses = last.respond(last.concatenate(maps))  # (1, n, N)
        return last.project(responses)[0] if project else responses[0]

    @property
    def row_bytes(self) -> int:
        """Memory per sample while its map is computed."""
        values = sum(input_map.n_columns for input_map in self.input_maps)
        for layer in self.map_layers:
            n_units, n_inputs = layer.concatenate.roots.shape
            n_landmarks = layer.project.projections[0].shape[0]
            values += n_landmarks * (n_inputs + 2 * n_units)
        return self.dtype.itemsize * values
