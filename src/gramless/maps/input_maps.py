"""Which explicit map each elementary kernel gets at the input of a layered DMN."""

from __future__ import annotations

from collections.abc import Mapping

from gramless.deep_kernel import DeepKernel
from gramless.maps.explicit import Eigen, Exact, Fourier, MapRecipe, Unary

InputMaps = str | Mapping[str, str | MapRecipe]
"""'eigen', 'paper', or kernel names with the map of each; kernels that are not named get eigendecompositions."""

RECIPES: dict[str, MapRecipe] = {"eigen": Eigen(), "exact": Exact(), "unary": Unary(), "fourier": Fourier()}
PAPER: dict[str, MapRecipe] = {
    "linear": Exact(),
    "polynomial": Exact(),
    "intersection": Unary(rounding="floor"),
}


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
    return [_recipe(input_maps.get(entry.kernel.name, "eigen")) for entry in kernel.inputs]


def _recipe(spec: str | MapRecipe) -> MapRecipe:
    if isinstance(spec, MapRecipe):
        return spec
    if spec not in RECIPES:
        raise ValueError(f"input_maps: there is no map named {spec!r}. Maps: {', '.join(RECIPES)}.")
    return RECIPES[spec]
