"""Networks whose map has its layers unfolded, for tests of what takes any map."""

import torch

from gramless.maps import layered_map


def unfolded(network, X, **settings):
    """A fitted DeepMapNetwork with the layered map of its kernel, on its landmarks, in place of its own."""
    generator = torch.Generator().manual_seed(0)
    samples = network.kernel_.views(X)
    network.replace_map(
        layered_map(
            network.kernel_,
            network.landmarks_,
            samples,
            n_components=network.n_components,
            generator=generator,
            **settings,
        )
    )
    network.clipped_mass_ = network.map_.clipped_mass
    return network
