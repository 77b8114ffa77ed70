"""Networks whose map has its layers unfolded, as the paper builds it."""

from __future__ import annotations

from typing import Any

import torch

import gramless as gl
from gramless.maps import layered_map
from gramless.maps.input_maps import InputMaps


def unfolded(network: gl.DeepMapNetwork, X: Any, input_maps: InputMaps) -> gl.DeepMapNetwork:
    """A fitted network with the layered map of its kernel, on its landmarks, in place of its own."""
    kernel, generator = network.kernel_, torch.Generator().manual_seed(0)
    samples = kernel.views(X)
    network.replace_map(layered_map(kernel, network.landmarks_, samples, input_maps=input_maps, generator=generator))
    return network
