"""The layered map against the paper's equations written out unit by unit."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gramless as gl
from gramless.kernels import Gaussian, Intersection, Linear, Polynomial
from gramless.maps import layered_map
from gramless.maps.explicit import Exact, Fourier, Unary
from gramless.network import Layer, ViewKernel, make_activation
from tests.networks import random_kernel, random_views, seeds, unfolded
from tests.oracles import networks as oracle


def build(kernel, landmarks, **settings):
    return layered_map(kernel, landmarks, landmarks, generator=torch.Generator().manual_seed(0), **settings)


def oracle_map(kernel, deep_map, views, landmarks, names):
    """phi by the oracle, from the explicit input maps."""
    pairs = list(zip(kernel.inputs, deep_map.input_maps, strict=True))

    def explicit(data):
        return [m.transform(data.tensor(entry.view, torch.float64)).numpy() for entry, m in pairs]

    weights = [layer.weights.numpy() for layer in kernel.layers]
    return oracle.deep_map(explicit(views), explicit(landmarks), weights, names) * np.sqrt(kernel.scale)


@given(seed=seeds, hidden=st.sampled_from([(), (4,), (4, 3)]), keep=st.sampled_from(["sinh", "exp", "identity"]))
def test_equals_the_concatenations_written_out(seed, hidden, keep):
    rng = np.random.default_rng(seed)
    views = random_views(rng, 20)
    names = [keep] * len(hidden) + ["exp"]
    kernel = random_kernel(rng, views, hidden, names)
    views = kernel.views(views)
    deep_map = build(kernel, views[:12])
    expected = oracle_map(kernel, deep_map, views, views[:12], names)
    found = deep_map.transform(views).numpy()
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-7 * np.abs(expected @ expected.T).max())


PAPER_KERNELS = (Linear(), Polynomial(degree=2), Gaussian(scale=0.8), Intersection(normalize=True))


def paper_network(views):
    rng = np.random.default_rng(5)
    inputs = tuple(ViewKernel(name, kernel) for name in views.names for kernel in PAPER_KERNELS)
    layers = (
        Layer(rng.random((3, len(inputs))) / len(inputs), make_activation("sinh")),
        Layer(rng.random((1, 3)), make_activation("exp")),
    )
    return gl.DeepKernel(inputs, layers, views.layout)


@pytest.mark.parametrize("unary", [Unary(levels=16), Unary(levels=64, rounding="floor")], ids=str)
def test_with_exact_unary_and_fourier_input_maps(rng, unary):
    views = random_views(rng, 20)
    kernel = paper_network(views)
    recipes = {"linear": Exact(), "polynomial": Exact(), "gaussian": Fourier(n_frequencies=40), "intersection": unary}
    deep_map = build(kernel, views[:12], input_maps=recipes)
    expected = oracle_map(kernel, deep_map, views, views[:12], ["sinh", "exp"])
    found = deep_map.transform(views).numpy()
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=1e-8)


def test_responses_are_activations_of_inner_products_of_concatenations_that_are_written_out(rng):
    views = random_views(rng, 12)
    kernel = paper_network(views)
    deep_map = build(kernel, views[:8])
    maps = [
        m.transform(views.tensor(entry.view, torch.float64))
        for entry, m in zip(kernel.inputs, deep_map.input_maps, strict=True)
    ]
    layer = deep_map.layers[0]
    for weights, responses in zip(layer.weights, layer.responses(maps), strict=True):
        unit = torch.cat([weight.sqrt() * phi for weight, phi in zip(weights, maps, strict=True)], dim=1)
        torch.testing.assert_close(responses, torch.sinh(unit @ unit[:8].T))


def test_small_blocks_give_the_same_map(rng):
    views = random_views(rng, 40)
    kernel = paper_network(views)
    whole = build(kernel, views[:10]).transform(views)
    with gl.config_context(memory_budget=60_000):
        blocks = build(kernel, views[:10])
        assert blocks.row_bytes * 40 > 30_000  # so that it has to go in blocks
        torch.testing.assert_close(blocks.transform(views), whole)


def test_refuses_landmarks_that_do_not_fit_the_budget(rng):
    views = random_views(rng, 40)
    kernel = paper_network(views)
    with gl.config_context(memory_budget=10_000), pytest.raises(gl.MemoryBudgetError, match="40 landmarks"):
        build(kernel, views)


@pytest.fixture
def fitted(rng):
    """A fitted network, and samples."""
    views = random_views(rng, 50)
    network = gl.DeepKernelNetwork(hidden=(5,), activation="sinh", learning=None, random_state=0)
    return gl.DeepMapNetwork(network, 12, random_state=0).fit(views), views


def gram(phi):
    return np.asarray(phi @ phi.T)


def test_unfolded_layers_are_the_map_of_the_network(fitted):
    dmn, views = fitted
    for settings in ({}, {"input_maps": {"linear": Exact()}}):
        found = gram(unfolded(dmn, views, **settings).transform(views))
        np.testing.assert_allclose(found, gram(dmn.transform(views)), rtol=1e-6)


def test_input_maps_that_are_not_there_are_refused(fitted):
    for input_maps in ("best", {"laplacian": Fourier()}):
        with pytest.raises(ValueError, match="input_maps"):
            unfolded(*fitted, input_maps=input_maps)


def test_the_papers_input_maps_stay_close_to_the_kernel(fitted):
    dmn, views = fitted
    chosen = views[dmn.landmark_indices_]
    np.testing.assert_allclose(
        gram(unfolded(dmn, views, input_maps="paper").transform(chosen)), dmn.kernel_(chosen), rtol=0.02
    )
