"""Kernels and samples to tune maps on."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.kernels import Gaussian, Precomputed
from gramless.maps import collapse
from gramless.maps.tuning import move_landmarks
from gramless.network import Layer, ViewKernel, make_activation
from tests.networks import random_kernel, random_views


def one_unit(kernels, weights, activation, views):
    """A network of one unit on the first view."""
    inputs = tuple(ViewKernel(views.names[0], kernel) for kernel in kernels)
    return gl.DeepKernel(inputs, (Layer([weights], make_activation(activation)),), views.layout)


def precomputed(gram, dtype=np.float64):
    """A network that looks its values up, and all its samples."""
    views = gl.Views({"number": np.arange(len(gram), dtype=dtype)[:, None]})
    return one_unit([Precomputed(gram)], [1.0], "identity", views), views


def heavy_tail(n=300, tail=1.0, dtype=np.float64, seed=0):
    """0.3 + a wide Gaussian + one so narrow that it is a share of its own for every sample."""
    views = gl.Views(np.random.default_rng(seed).normal(size=(n, 4)).astype(dtype))
    return one_unit([Gaussian(scale=8**0.5), Gaussian(scale=0.1)], [1.0, tail], (0.3, 1.0), views), views


def three_layers(n=120, dtype=np.float64, seed=0):
    """A random network with a hidden layer of four units, and samples of two views."""
    rng = np.random.default_rng(seed)
    views = random_views(rng, n, dtype=dtype)
    kernel = random_kernel(rng, views, (4,), ["sinh", "exp"], gain=1.5)
    return kernel, kernel.views(views)


def compiled(kernel, views, n_landmarks, n_components=None):
    """The initial map on the first samples."""
    return collapse(kernel, views[:n_landmarks].dense(views.dtype), n_components, views.dtype)


def error(deep_map, views):
    """Relative error over pairs of different samples, in percent."""
    phi, gram = deep_map.transform(views).double(), deep_map.kernel.tensor(views, views, torch.float64)
    a = phi @ phi.T
    errors = ((a - gram).abs() / (a.abs() + gram.abs())).fill_diagonal_(0.0)
    return 100.0 * errors.sum().item() / (len(views) * (len(views) - 1))


def moved(deep_map, X, chance, n_steps):
    """`move_landmarks` with so many steps."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gramless.maps.tuning.landmark_descent.STEPS", n_steps)
        return move_landmarks(deep_map, X, chance)
