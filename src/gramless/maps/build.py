"""Building the layered DMN greedily, layer by layer, from a DKN and landmarks (Proposition 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device
from gramless.maps.explicit import ExplicitMap, MapRecipe, Projection, project, refuse_conditional, warn_if_clipped
from gramless.maps.input_maps import InputMaps, choose_recipes
from gramless.maps.layered import LayeredMap
from gramless.maps.sublayers import Concatenate, MapLayer, Project, Respond
from gramless.network import Layer
from gramless.support.budget import require, row_blocks
from gramless.support.checks import is_sequence
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views import Views

ViewBounds = Callable[[str], tuple[Tensor, Tensor]]
"""Finds the smallest and largest value of every feature of a view, over all training samples."""


def layered_map(
    kernel: DeepKernel,
    landmarks: Views,
    samples: Views,
    *,
    input_maps: InputMaps = "eigen",
    hidden_components: int | Sequence[int] | None = None,
    n_components: int | None = None,
    generator: torch.Generator,
) -> LayeredMap:
    """The map with every layer unfolded into three sub-layers, as the paper builds it.

    input_maps : "eigen", "paper", or a mapping of kernel names to maps: the explicit maps of the elementary kernels
    hidden_components : eigenvectors that are kept in the hidden layers, or in each of them; None keeps all
    samples : whose type the map has, and by whose range input maps quantise
    """
    n_hidden = len(kernel.layers) - 1
    given: Any = hidden_components
    hidden = list(given) if is_sequence(given) else [given] * n_hidden
    if len(hidden) != n_hidden:
        raise ValueError(f"hidden_components={hidden!r} must name a number for each of the {n_hidden} hidden layers.")
    recipes = choose_recipes(kernel, input_maps)
    bounds = partial(feature_bounds, samples)
    return build_layered(kernel, landmarks, recipes, [*hidden, n_components], samples.dtype, generator, bounds)


def build_layered(
    kernel: DeepKernel,
    landmarks: Views,
    recipes: Sequence[MapRecipe],
    n_components: Sequence[int | None],
    dtype: torch.dtype,
    generator: torch.Generator,
    bounds: ViewBounds | None = None,
) -> LayeredMap:
    """The initial DMN.

    `recipes` makes the input map of each elementary kernel; `n_components` is the number of eigenvectors kept in
    each layer, None for all. A layer's Gram matrices are those of the network itself, g(<phi^c(x_i), phi^c(x_j)>):
    the DKN's own as long as nothing was truncated or quantised before (Proposition 2), and otherwise the ones that
    the layer really has to reproduce.
    """
    refuse_conditional((entry.kernel for entry in kernel.inputs), "the layered map")
    n_landmarks, widest = len(landmarks), max(layer.n_inputs + 2 * layer.n_units for layer in kernel.layers)
    require(
        8.0 * n_landmarks**2 * widest,
        current_budget(),
        what=f"the layered map of a network with up to {widest} units on {n_landmarks:,} landmarks",
        remedy="Use the collapsed map (DeepMapNetwork), fewer landmarks, or raise memory_budget.",
    )
    device = choose_device(landmarks)
    input_maps = fit_input_maps(kernel, landmarks, recipes, generator, bounds, dtype)
    maps: list[Any] = [
        input_map.compress(landmarks.tensor(entry.view, torch.float64, device))
        for entry, input_map in zip(kernel.inputs, input_maps, strict=True)
    ]
    layers: list[MapLayer] = []
    projections: list[list[Projection]] = []
    with ProgressBar("eigendecompositions", sum(layer.n_units for layer in kernel.layers)) as progress:
        for layer, kept in zip(kernel.layers, n_components, strict=True):
            built = build_layer(layer, kernel.scale if layer is kernel.layers[-1] else 1.0, maps, kept, dtype, progress)
            layers.append(built[0])
            projections.append(built[1])
            maps = [projection.landmark_map for projection in built[1]]
    worst = max((projection for units in projections for projection in units), key=lambda p: p.clipped_mass)
    warn_if_clipped(worst, "a unit's kernel on the landmarks")
    masses = [[projection.clipped_mass for projection in units] for units in projections]
    norms = [[projection.clipped_norm for projection in units] for units in projections]
    return LayeredMap(kernel, input_maps, layers, masses, norms, dtype).to(dtype)


def build_layer(
    layer: Layer, gain: float, maps: Sequence[Any], kept: int | None, dtype: torch.dtype, progress: ProgressBar
) -> tuple[MapLayer, list[Projection]]:
    """The three sub-layers of one layer, from the landmarks' maps at the layer before.

    The kernel is gain times the activation's responses r, its map gain r U with U from the Gram matrix gain r(S, S).
    """
    weights = layer.weights.to(device=_device_of(maps))
    concatenate = Concatenate(weights.sqrt())
    respond = Respond(maps, layer.activation)
    grams = respond(concatenate(maps))  # (n_units, N, N)
    projections = []
    for gram in grams:
        projections.append(project(gain * gram, kept, dtype))
        progress.advance()
    matrices = [projection.matrix * gain for projection in projections]
    return MapLayer(concatenate, respond, Project(matrices)), projections


def fit_input_maps(
    kernel: DeepKernel,
    landmarks: Views,
    recipes: Sequence[MapRecipe],
    generator: torch.Generator,
    bounds: ViewBounds | None,
    dtype: torch.dtype,
) -> list[ExplicitMap]:
    maps = []
    for entry, recipe in zip(kernel.inputs, recipes, strict=True):
        points = landmarks.tensor(entry.view, dtype, choose_device(landmarks))
        of_view = partial(bounds, entry.view) if bounds is not None else None
        maps.append(recipe.fit(entry.kernel, points, generator, of_view))
    return maps


def _device_of(maps: Sequence[Any]) -> torch.device:
    first = maps[0]
    return first.device if isinstance(first, Tensor) else first.codes.device


def feature_bounds(views: Views, view: str) -> tuple[Tensor, Tensor]:
    """The smallest and the largest value of every feature of a view, in one pass over blocks."""
    lows, highs = [], []
    for rows in row_blocks(len(views), 8 * views.layout[view], current_budget()):
        block = views[rows].tensor(view, views.dtype)
        lows.append(block.amin(0))
        highs.append(block.amax(0))
    return torch.stack(lows).amin(0), torch.stack(highs).amax(0)
