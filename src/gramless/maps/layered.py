"""The layered DMN: each layer of the DKN unfolded into three sub-layers, as the paper has it (sections 3.2 and 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device, finite
from gramless.maps.explicit import Eigen, Exact, ExplicitMap, MapRecipe, Unary, inner, refuse_conditional
from gramless.maps.spectrum import Projection, project, warn_if_clipped
from gramless.network import Activation
from gramless.support.budget import require, row_blocks
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views import Views

InputMaps = str | Mapping[str, MapRecipe]
"""'eigen', 'paper', or kernel names with the map of each; kernels that are not named get eigendecompositions."""

PAPER: dict[str, MapRecipe] = {
    "linear": Exact(),
    "polynomial": Exact(),
    "intersection": Unary(rounding="floor"),
}


@dataclass(frozen=True, eq=False)
class MapLayer:
    """One layer of the DKN as three sub-layers of the DMN.

    1. phi_p^c = (sqrt(w_p1) phi_1, ..., sqrt(w_pn) phi_n) of every unit p (Eq. 8). The units share the phi_q and differ
       in weights only, so that nothing but inner products is written out:
       <phi_p^c(x), phi_p^c(x_i)> = sum_q w_pq <phi_q(x), phi_q(x_i)> (Eq. 9).
    2. The activation of those with the landmarks x_i (inside Eq. 7).
    3. These responses of unit p times U_p (Eq. 7); units may keep different numbers of components.
    """

    weights: Tensor  # (n_units, n_inputs): w_pq
    anchors: Sequence[Any]  # phi_q of the landmarks, or codes that `inner` takes
    activation: Activation
    projections: Sequence[Tensor]  # per unit, (N, r): U_p

    def responses(self, maps: Sequence[Any]) -> Tensor:
        """Sub-layers 1 and 2, from phi_q(x) of every input: (n_units, n, N)."""
        products = torch.stack([inner(phi, anchor) for phi, anchor in zip(maps, self.anchors, strict=True)])
        return self.activation.apply_(torch.tensordot(self.weights, products, dims=1))

    def project(self, responses: Tensor) -> list[Tensor]:
        """Sub-layer 3: phi_p(x), (n, r) of every unit."""
        return [response @ U for response, U in zip(responses, self.projections, strict=True)]

    def apply(self, function: Callable[[Tensor], Tensor]) -> MapLayer:
        """The same layer after a change of type or device."""
        anchors = [function(a) if isinstance(a, Tensor) else a.apply(function) for a in self.anchors]
        return MapLayer(function(self.weights), anchors, self.activation, [function(U) for U in self.projections])


@dataclass(frozen=True, eq=False)
class LayeredMap:
    """Input maps phi_q^(1), then layers of sub-layers, the last with a single unit whose map is the output.

    Per sample and layer: n_inputs N columns for the inner products, n_units n_inputs N for their weighting and
    n_units N n_components for the projections.
    """

    kernel: DeepKernel
    input_maps: list[ExplicitMap]
    layers: list[MapLayer]
    clipped_mass: list[list[float]]  # per layer and unit, of its spectrum on the landmarks
    clipped_norm: list[list[float]]
    dtype: torch.dtype

    @property
    def n_components(self) -> int:
        return self.layers[-1].projections[0].shape[1]

    def responses(self, X: Views) -> Tensor:
        """The output kernel against the landmarks, before the last projection: (n, N)."""
        return self._blocks(X, project=False).mul_(self.kernel.scale)

    def transform(self, X: Views) -> Tensor:
        """phi(x): (n, n_components), where the caller's data lies."""
        return self._blocks(X, project=True)

    def _blocks(self, X: Views, *, project: bool) -> Tensor:
        device, place = choose_device(X), X.torch_device or torch.device("cpu")
        here = replace(self, layers=[layer.apply(lambda t: t.to(device)) for layer in self.layers])
        blocks = []
        with ProgressBar("layered deep map", len(X)) as progress:
            for rows in row_blocks(len(X), self.row_bytes, current_budget() // 2):
                block = X[rows]
                maps = [
                    input_map.compress(block.tensor(entry.view, self.dtype, device))
                    for entry, input_map in zip(self.kernel.inputs, self.input_maps, strict=True)
                ]
                blocks.append(here.from_input_maps(maps, project=project).to(place))
                progress.advance(rows.stop - rows.start)
        return finite(torch.cat(blocks))

    def from_input_maps(self, maps: Sequence[Any], *, project: bool) -> Tensor:
        """The output map from phi_q^(1)(x) of every elementary kernel q."""
        *hidden, last = self.layers
        for layer in hidden:
            maps = layer.project(layer.responses(maps))
        responses = last.responses(maps)  # (1, n, N)
        return last.project(responses)[0] if project else responses[0]

    @property
    def row_bytes(self) -> int:
        """Memory per sample while its map is computed."""
        values = sum(input_map.n_columns for input_map in self.input_maps)
        for layer in self.layers:
            n_units, n_inputs = layer.weights.shape
            values += layer.projections[0].shape[0] * (n_inputs + 2 * n_units)
        return self.dtype.itemsize * values


def layered_map(
    kernel: DeepKernel,
    landmarks: Views,
    samples: Views,
    *,
    input_maps: InputMaps = "eigen",
    generator: torch.Generator,
) -> LayeredMap:
    """The initial DMN, built greedily, layer by layer (Proposition 2).

    A layer's Gram matrices are those of the network itself, g(<phi^c(x_i), phi^c(x_j)>): the DKN's own as long as
    nothing was quantised before, and otherwise the ones that the layer really has to reproduce.

    input_maps : "eigen", "paper", or a mapping of kernel names to maps: the explicit maps of the elementary kernels
    samples : whose type the map has, and by whose range input maps quantise
    """
    refuse_conditional((entry.kernel for entry in kernel.inputs), "the layered map")
    n_landmarks, widest = len(landmarks), max(layer.n_inputs + 2 * layer.n_units for layer in kernel.layers)
    require(
        8.0 * n_landmarks**2 * widest,
        current_budget(),
        what=f"the layered map of a network with up to {widest} units on {n_landmarks:,} landmarks",
        remedy="Use the collapsed map (DeepMapNetwork), fewer landmarks, or raise memory_budget.",
    )
    device, dtype = choose_device(landmarks), samples.dtype
    inputs: list[ExplicitMap] = []
    for entry, recipe in zip(kernel.inputs, choose_recipes(kernel, input_maps), strict=True):
        bounds = partial(feature_bounds, samples, entry.view)
        inputs.append(recipe.fit(entry.kernel, landmarks.tensor(entry.view, dtype, device), generator, bounds))
    maps: list[Any] = [
        input_map.compress(landmarks.tensor(entry.view, torch.float64, device))
        for entry, input_map in zip(kernel.inputs, inputs, strict=True)
    ]
    layers: list[MapLayer] = []
    spectra: list[list[Projection]] = []
    with ProgressBar("eigendecompositions", sum(layer.n_units for layer in kernel.layers)) as progress:
        for layer in kernel.layers:
            # The kernel is gain times the responses r, its map gain r U with U from the Gram matrix gain r(S, S).
            gain = kernel.scale if layer is kernel.layers[-1] else 1.0
            unfolded = MapLayer(layer.weights.to(device), maps, layer.activation, ())
            units = []
            for gram in unfolded.responses(maps):
                units.append(project(gain * gram, None, dtype))
                progress.advance()
            unfolded = replace(unfolded, projections=[gain * unit.matrix for unit in units])
            layers.append(unfolded.apply(lambda t: t.to(dtype)))
            spectra.append(units)
            maps = [unit.landmark_map for unit in units]
    worst = max((unit for units in spectra for unit in units), key=lambda unit: unit.clipped_mass)
    warn_if_clipped(worst, "a unit's kernel on the landmarks")
    masses = [[unit.clipped_mass for unit in units] for units in spectra]
    norms = [[unit.clipped_norm for unit in units] for units in spectra]
    return LayeredMap(kernel, inputs, layers, masses, norms, dtype)


def feature_bounds(views: Views, view: str) -> tuple[Tensor, Tensor]:
    """The smallest and the largest value of every feature of a view, in one pass over blocks."""
    lows, highs = [], []
    for rows in row_blocks(len(views), 8 * views.layout[view], current_budget()):
        block = views[rows].tensor(view, views.dtype)
        lows.append(block.amin(0))
        highs.append(block.amax(0))
    return torch.stack(lows).amin(0), torch.stack(highs).amax(0)


def choose_recipes(kernel: DeepKernel, input_maps: InputMaps) -> list[MapRecipe]:
    """One recipe per elementary kernel."""
    if isinstance(input_maps, str):
        if input_maps not in ("eigen", "paper"):
            raise ValueError(
                f"input_maps={input_maps!r}: give 'eigen' (an eigendecomposition for every kernel), 'paper' (exact "
                "maps for linear and polynomial kernels, unary for intersection, eigendecompositions for the rest), "
                "or a mapping of kernel names to maps."
            )
        input_maps = PAPER if input_maps == "paper" else {}
    names = {entry.kernel.name for entry in kernel.inputs}
    unknown = set(input_maps) - names
    if unknown and input_maps is not PAPER:
        raise ValueError(f"input_maps names the kernels {sorted(unknown)}, but this network has {sorted(names)}.")
    return [input_maps.get(entry.kernel.name, Eigen()) for entry in kernel.inputs]
