"""Random deep kernel networks for property-based tests, and what holds for both kinds of maps."""

from dataclasses import replace

import numpy as np
import torch
from hypothesis import strategies as st

import gramless as gl
from gramless.kernels import NAMED, ChiSquare, Gaussian, Intersection, Laplacian, Linear, Polynomial
from gramless.maps import layered_map
from gramless.network import Layer, ViewKernel, make_activation

KERNELS = (
    Linear(normalize=True),
    Polynomial(degree=2, normalize=True),
    Polynomial(degree=3, offset=0.5, normalize=True),
    Gaussian(scale=0.6),
    Intersection(normalize=True),
    Laplacian(scale=1.5),
    ChiSquare(scale=1.0),
)
"""All with values up to 1, so that an exponential of exponentials stays a number."""


def random_views(rng, n_rows, widths=(4, 6), dtype=np.float64):
    """Non-negative views, so that every kernel is defined on them."""
    return gl.Views({f"v{i}": rng.random((n_rows, width)).astype(dtype) for i, width in enumerate(widths)})


def random_kernel(rng, views, hidden, activations, n_kernels=5, gain=0.7):
    """A DeepKernel with random kernels on random views, and random weights whose rows sum to the gain."""
    inputs = tuple(
        ViewKernel(str(rng.choice(views.names)), KERNELS[rng.integers(len(KERNELS))]) for _ in range(n_kernels)
    )
    used = [name for name in views.names if any(entry.view == name for entry in inputs)]
    widths = (n_kernels, *hidden, 1)
    layers = []
    for n_inputs, n_units, activation in zip(widths[:-1], widths[1:], activations, strict=True):
        weights = rng.random((n_units, n_inputs)) + 0.05
        layers.append(Layer(gain * weights / weights.sum(1, keepdims=True), make_activation(activation)))
    return gl.DeepKernel(inputs, tuple(layers), {name: views.layout[name] for name in used}, scale=1.3)


def approximated_kernel(rng, n_rows, n_landmarks):
    """A kernel, views, and a map of the kernel that is visibly off on them."""
    views = random_views(rng, n_rows)
    kernel = random_kernel(rng, views, (4,), ["sinh", "exp"])
    views = kernel.views(views)
    return kernel, views, gl.DeepMapNetwork(kernel, n_landmarks=n_landmarks, random_state=0).fit(views)


seeds = st.integers(0, 2**32 - 1)


def kernels_by_name(scale=1.2):
    """Every p.s.d. kernel that has a name, at a scale where it has one: what holds for all holds for a new one too."""
    named = (kernel for kernel in NAMED.values() if not kernel.conditional)
    return [replace(kernel, scale=scale) if hasattr(kernel, "scale") else kernel for kernel in named]


def unfolded(network, X, **settings):
    """The map of a DeepMapNetwork's kernel with every layer unfolded, on its landmarks."""
    generator = torch.Generator().manual_seed(0)
    return layered_map(network.kernel_, network.landmarks_, network.kernel_.views(X), generator=generator, **settings)
