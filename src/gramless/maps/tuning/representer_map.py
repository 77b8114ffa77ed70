"""The map that Algorithm 1 makes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device, finite
from gramless.errors import DataError
from gramless.maps.tuning.representer import UNITS_AT_ONCE, Parameters, forward
from gramless.support.budget import row_blocks
from gramless.support.checks import check_array
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class RepresenterMap:
    """A layered DMN whose first-layer anchors are sums over `points`, the landmarks first, of D_p[x, i] phi_p^c(x).

    Per sample: n_kernels n_points kernel values and n_units n_points (n_kernels + N) multiply-adds in the first layer,
    where the layered map needs n_units N (n_kernels + N): what the tuning set took part in has to be met again.
    """

    kernel: DeepKernel
    points: Views  # the landmarks, then the tuning samples that moved an anchor
    coefficients: Tensor  # (n_units, n_points, N): D_p
    projections: list[Tensor]  # per layer, (n_units, N, r): U_p
    anchors: list[Tensor]  # per layer but the first, (n_units, n_inputs, N, r)
    clipped_mass: list[list[float]]  # per layer and unit, of the initial network
    dtype: torch.dtype

    def __post_init__(self) -> None:
        self.kernel.check_samples(self.points)
        layers = self.kernel.layers
        if len(self.projections) != len(layers) or len(self.anchors) != len(layers) - 1:
            raise DataError(
                f"a network of {len(layers)} layers has as many projections, and anchors in all but the first, got "
                f"{len(self.projections)} and {len(self.anchors)}."
            )
        check_array("coefficients of anchors", self.coefficients, (layers[0].n_units, len(self.points), None))
        n_landmarks = self.coefficients.shape[2]
        for layer, projections in zip(layers, self.projections, strict=True):
            check_array("the projections of a layer", projections, (layer.n_units, n_landmarks, None))
        for layer, anchors, before in zip(layers[1:], self.anchors, self.projections, strict=False):
            shape = (layer.n_units, layer.n_inputs, n_landmarks, before.shape[2])
            check_array("the anchors of a layer", anchors, shape)

    @property
    def parameters(self) -> Parameters:
        return Parameters(self.coefficients, self.projections, self.anchors)

    @property
    def n_components(self) -> int:
        return self.projections[-1].shape[2]

    def responses(self, X: Views) -> Tensor:
        """The output kernel against its anchors, before the last projection: (n, N)."""
        return self._blocks(X, project=False)

    def transform(self, X: Views) -> Tensor:
        """phi(x): (n, n_components), where the caller's data lies."""
        return self._blocks(X, project=True)

    def _blocks(self, X: Views, *, project: bool) -> Tensor:
        device = choose_device(X)
        place = X.torch_device or torch.device("cpu")
        parameters = self.parameters.apply(lambda t: t.to(device=device, dtype=self.dtype))
        blocks = []
        with ProgressBar("representer deep map", len(X)) as progress:
            for rows in row_blocks(len(X), self.row_bytes, current_budget() // 2):
                elementary = self.kernel.elementary(X[rows], self.points, self.dtype, device)
                last = forward(self.kernel, parameters, elementary)[-1]
                blocks.append((last.maps if project else last.responses)[0].to(place))
                progress.advance(rows.stop - rows.start)
        return finite(torch.cat(blocks))

    @property
    def row_bytes(self) -> int:
        """Memory per sample while its map is computed."""
        return self.dtype.itemsize * row_values(self.kernel, self.parameters)


def row_values(kernel: DeepKernel, parameters: Parameters) -> int:
    """Numbers per sample while its map is computed: elementary kernels, then every layer's trace."""
    n_points = parameters.coefficients.shape[1]
    traces = sum(len(U) * (2 * U.shape[1] + U.shape[2]) for U in parameters.projections)
    return (len(kernel.inputs) + UNITS_AT_ONCE) * n_points + traces
