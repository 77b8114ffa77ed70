"""Shares in decisions: against all combinations of rows, known functions, and kernels that cannot matter."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.heads.decision_shares import MOST_ROWS, N_DRAWN, decision_shares, effects
from gramless.kernels import Gaussian, Linear
from gramless.network import Layer, ViewKernel, make_activation
from tests.networks import random_kernel, random_views
from tests.oracles import decision_shares as oracle

BUDGET = 1 << 30
DEEP = [((), ("exp",)), ((4,), ("exp", "identity")), ((5, 3), ("tanh", "sinh", "exp"))]


def network(views, weights, activation, kernel):
    inputs = tuple(ViewKernel(view, kernel) for view in views.names)
    return gl.DeepKernel(inputs, (Layer([weights], make_activation(activation)),), views.layout)


def values_of(kernel, views):
    """Every kernel by its reference, in float64."""
    return torch.stack([e.kernel.pairwise(*[views.tensor(e.view, torch.float64)] * 2) for e in kernel.inputs])


@pytest.mark.parametrize(("hidden", "activations"), DEEP)
def test_effects_are_those_of_loops_over_samples_and_pairs(rng, hidden, activations):
    views = random_views(rng, 6)
    kernel = random_kernel(rng, views, hidden, activations, gain=2.0)
    values, weights = values_of(kernel, kernel.views(views)), rng.normal(size=(3, 6))
    drawn, anew = torch.from_numpy(rng.integers(0, 6, (2, 5, 9)))
    parts = [[0, 3], [1], [2, 4]]
    layers = [(layer.weights.tolist(), layer.activation.name) for layer in kernel.layers]
    expected = np.zeros((3, 3))
    for label, part, sample in np.ndindex(3, 3, 9):
        rows = drawn[:, sample].tolist()
        changed = [anew[q, sample].item() if q in parts[part] else row for q, row in enumerate(rows)]
        before, after = (oracle.decision(layers, values.tolist(), weights[label].tolist(), r) for r in (rows, changed))
        expected[label, part] += (before - after) ** 2
    found = effects(kernel.layers, values, torch.from_numpy(weights), parts, drawn, anew)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(("hidden", "activations"), DEEP[:2])
def test_shares_are_total_effects_over_all_combinations_of_rows(rng, hidden, activations):
    views = random_views(rng, 4)
    kernel = random_kernel(rng, views, hidden, activations, n_kernels=4, gain=2.0)
    views, weights = kernel.views(views), rng.normal(size=(2, 4))
    names = list(dict.fromkeys(entry.view for entry in kernel.inputs))
    layers = [(layer.weights.tolist(), layer.activation.name) for layer in kernel.layers]
    of_views = [names.index(entry.view) for entry in kernel.inputs]
    expected = np.array(oracle.shares(layers, values_of(kernel, views).tolist(), weights.tolist(), of_views))
    found = decision_shares(kernel, views, weights, BUDGET)
    np.testing.assert_allclose(found.sum(1), 1.0)
    # The mean of N squares whose kurtosis is c is off by sqrt((c - 1) / N): of those of a uniform difference, c = 2.4.
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(1.4 / N_DRAWN) / 2)
    np.testing.assert_allclose(decision_shares(kernel, views, weights, 1), found, rtol=1e-9)  # a sample at a time


def test_a_sum_has_the_shares_of_its_variances(rng):
    """f = 2 <u, x_a> + <u, x_b> with both views alike: variances 4 and 1."""
    block = rng.normal(size=(200, 3))
    views = gl.Views({"a": block, "b": rng.permutation(block)})
    kernel = network(views, [2.0, 1.0], "identity", Linear())
    u = np.array([1.0, 0.0, 0.0])
    both = np.linalg.lstsq(np.vstack([views["a"].T, views["b"].T]), np.concatenate([u, u]), rcond=1e-12)[0]
    found = decision_shares(kernel, views, both[None, :], BUDGET)
    np.testing.assert_allclose(found, [[0.8, 0.2]], atol=4 * 0.8 * 0.2 * np.sqrt(2 * 2 / N_DRAWN))


def test_a_view_that_is_the_same_for_all_and_one_without_weight_have_no_share(rng):
    views = gl.Views({"a": rng.random((20, 3)), "constant": np.ones((20, 2)), "idle": rng.random((20, 3))})
    kernel = network(views, [1.0, 5.0, 0.0], "exp", Gaussian(1.0))
    np.testing.assert_allclose(decision_shares(kernel, views, rng.normal(size=(1, 20)), BUDGET), [[1.0, 0.0, 0.0]])


def test_kernels_of_a_view_divide_its_share(rng):
    views = gl.Views({"a": rng.random((20, 3)), "b": rng.random((20, 3))})
    inputs = [ViewKernel("a", Gaussian(1.0)), ViewKernel("b", Gaussian(1.0)), ViewKernel("a", Gaussian(1.0))]
    layers = (Layer([[0.5, 1.0, 0.5]], make_activation("identity")),)
    twice = decision_shares(gl.DeepKernel(tuple(inputs), layers, views.layout), views, np.ones((1, 20)), BUDGET)
    once = decision_shares(network(views, [1.0, 1.0], "identity", Gaussian(1.0)), views, np.ones((1, 20)), BUDGET)
    assert twice[0, 0] == pytest.approx(twice[0, 2])
    assert twice[0, 0] + twice[0, 2] == pytest.approx(once[0, 0], abs=0.15)


@pytest.mark.parametrize("n", [1, 2])
def test_next_to_no_samples_and_decisions_that_never_vary(rng, n):
    views = gl.Views({"a": rng.random((n, 2)), "b": rng.random((n, 2))})
    kernel = network(views, [1.0, 1.0], "exp", Gaussian(1.0))
    np.testing.assert_array_equal(decision_shares(kernel, views, np.zeros((3, n)), BUDGET), np.zeros((3, 2)))
    found = decision_shares(kernel, views, np.array([[1.0, -1.0]])[:, :n], BUDGET)
    assert found.sum() == pytest.approx(0.0 if n == 1 else 1.0)


def test_of_many_samples_some_are_drawn_from_that_lie_among_all_of_them(rng):
    """The first half is the same in one view: of those alone it would have no share."""
    n = MOST_ROWS + 101
    views = gl.Views({"a": np.vstack([np.zeros((n // 2, 2)), rng.random((n - n // 2, 2))]), "b": rng.random((n, 2))})
    found = decision_shares(network(views, [1.0, 1.0], "exp", Gaussian(1.0)), views, rng.normal(size=(1, n)), BUDGET)
    assert 0.05 < found[0, 0] < 0.95


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_huge_and_tiny_coefficients(rng, size):
    views = gl.Views({"a": rng.random((9, 2)), "b": rng.random((9, 2))})
    kernel, weights = network(views, [1.0, 1.0], "exp", Gaussian(1.0)), rng.normal(size=(2, 9))
    expected = decision_shares(kernel, views, weights, BUDGET)
    np.testing.assert_allclose(decision_shares(kernel, views, size * weights, BUDGET), expected, rtol=1e-9)
