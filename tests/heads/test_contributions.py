"""What kernels add to decisions: against loops over pairs, the decisions themselves, and integrals of slopes."""

import numpy as np
import pytest
import torch
from hypothesis import given

import gramless as gl
from gramless.heads.contributions import MOST_ROWS, contributions, decision_shares, secant
from gramless.kernels import Gaussian, Linear
from gramless.network import Layer, ViewKernel, forward, make_activation
from tests.networks import random_kernel, random_views, seeds
from tests.oracles import contributions as oracle

BUDGET = 1 << 30
DEEP = [((), ("exp",)), ((4,), ("exp", "identity")), ((5, 3), ("tanh", "sinh", "exp"))]


def plain(kernel):
    return [(layer.weights.tolist(), layer.activation.name) for layer in kernel.layers]


def elementary(kernel, views):
    """Every kernel by its reference, in float64."""
    return torch.stack([e.kernel.pairwise(*[views.tensor(e.view, torch.float64)] * 2) for e in kernel.inputs])


@pytest.mark.parametrize(("hidden", "activations"), DEEP)
def test_shares_are_those_of_loops_over_pairs(rng, hidden, activations):
    views = random_views(rng, 7)
    kernel = random_kernel(rng, views, hidden, activations, gain=2.0)
    views = kernel.views(views)
    weights = rng.normal(size=(3, 7))
    expected = oracle.shares(plain(kernel), elementary(kernel, views).tolist(), weights.tolist())
    np.testing.assert_allclose(decision_shares(kernel, views, weights, BUDGET), expected, rtol=1e-7)
    np.testing.assert_allclose(decision_shares(kernel, views, weights, 1), expected, rtol=1e-7)  # a row at a time


@given(seeds)
def test_contributions_add_up_to_what_tells_a_sample_from_an_unknown_one(seed):
    rng = np.random.default_rng(seed)
    hidden, activations = DEEP[seed % len(DEEP)]
    kernel = random_kernel(rng, random_views(rng, 2), hidden, activations, gain=3.0)
    values = torch.from_numpy(rng.normal(size=(5, 4, 6)))
    means, weights = values.mean(1), torch.from_numpy(rng.normal(size=(2, 6)))
    found = contributions(kernel.layers, values, means, weights)
    assert found.shape == (2, 5, 4)
    moved = forward(kernel.layers, values) - forward(kernel.layers, means)  # (4, 6)
    sizes = forward(kernel.layers, values.abs()).max().item() * weights.abs().sum().item()
    np.testing.assert_allclose(found.sum(1), (moved @ weights.T).T, atol=1e-9 * sizes)


def test_in_a_sum_of_exponentials_they_are_integrated_gradients(rng):
    kernel = random_kernel(rng, random_views(rng, 2), (4,), ("exp", "identity"), gain=2.0)
    values, means = torch.from_numpy(rng.normal(size=(5, 1, 1))), torch.from_numpy(rng.normal(size=(5, 1)))
    positions, lengths = np.polynomial.legendre.leggauss(40)
    way = (means[:, :, None] + torch.from_numpy((positions + 1) / 2) * (values - means[:, :, None])).requires_grad_()
    hidden = way[:, 0]
    for layer in kernel.layers:
        hidden = layer.activation(layer.weights @ hidden)
    (slopes,) = torch.autograd.grad(hidden.sum(), way)
    expected = (values - means[:, :, None])[:, 0, 0] * (slopes[:, 0] @ torch.from_numpy(lengths / 2))
    found = contributions(kernel.layers, values, means, torch.ones(1, 1, dtype=torch.float64))
    np.testing.assert_allclose(found[0, :, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-300, 1e-12, 1e-6, 1e-4, 1.0, 50.0])
def test_a_slope_between_sums_however_close(gap):
    start = torch.tensor([-3.0, 0.0, 2.0], dtype=torch.float64)
    slope = secant(make_activation("exp"), start, start + gap)
    expected = start.exp() * (torch.special.expm1(torch.tensor(gap, dtype=torch.float64)) / gap if gap else 1.0)
    np.testing.assert_allclose(slope, expected, rtol=1e-9)


def test_a_kernel_that_is_the_same_for_all_and_one_without_weight_have_no_share(rng):
    views = gl.Views({"a": rng.random((20, 3)), "constant": np.ones((20, 2)), "idle": rng.random((20, 3))})
    inputs = tuple(ViewKernel(view, Gaussian(1.0)) for view in views.names)
    kernel = gl.DeepKernel(inputs, (Layer([[1.0, 5.0, 0.0]], make_activation("exp")),), views.layout)
    np.testing.assert_allclose(decision_shares(kernel, views, rng.normal(size=(1, 20)), BUDGET), [[1.0, 0.0, 0.0]])


def test_how_alike_a_sample_is_to_itself_does_not_count(rng):
    """A view in which nobody is like anybody else says nothing, however well it tells the known samples apart."""
    views = gl.Views({"a": rng.random((15, 2)), "private": 1e3 * np.eye(15)})
    inputs = tuple(ViewKernel(view, Gaussian(1.0)) for view in views.names)
    kernel = gl.DeepKernel(inputs, (Layer([[1.0, 1.0]], make_activation("identity")),), views.layout)
    np.testing.assert_allclose(decision_shares(kernel, views, rng.normal(size=(2, 15)), BUDGET), [[1.0, 0.0]] * 2)


@pytest.mark.parametrize("n", [1, 2])
def test_next_to_no_samples_and_decisions_that_never_vary(rng, n):
    views = gl.Views({"a": rng.random((n, 2))})
    kernel = gl.DeepKernel((ViewKernel("a", Linear()),), (Layer([[1.0]], make_activation("exp")),), views.layout)
    found = decision_shares(kernel, views, np.zeros((3, n)), BUDGET)
    np.testing.assert_array_equal(found, np.zeros((3, 1)))
    found = decision_shares(kernel, views, np.ones((1, n)), BUDGET)
    assert np.isfinite(found).all()


def test_many_points_are_looked_at_by_some_that_lie_among_all_of_them(rng):
    n = MOST_ROWS + 101
    views = gl.Views({"a": np.vstack([rng.random((n // 2, 2)), np.zeros((n - n // 2, 2))]), "b": rng.random((n, 2))})
    inputs = tuple(ViewKernel(view, Gaussian(1.0)) for view in views.names)
    kernel = gl.DeepKernel(inputs, (Layer([[1.0, 1.0]], make_activation("exp")),), views.layout)
    some = decision_shares(kernel, views, rng.normal(size=(1, n)), BUDGET)
    assert 0.05 < some[0, 0] < 0.95
    assert some.sum() == pytest.approx(1.0)
