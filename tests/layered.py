"""The layered map of a fitted network, for tests of what holds for both kinds of maps."""

import torch

from gramless.maps import layered_map


def unfolded(network, X, **settings):
    """The map of a DeepMapNetwork's kernel with every layer unfolded, on its landmarks."""
    settings = {"n_components": network.n_components, "generator": torch.Generator().manual_seed(0)} | settings
    return layered_map(network.kernel_, network.landmarks_, network.kernel_.views(X), **settings)
