"""The relative error against its definition, pair by pair."""

import numpy as np
import pytest
import torch
from sklearn.kernel_approximation import Nystroem

import gramless as gl
from gramless.metrics.approximation import pairwise_relative_error
from tests.networks import approximated_kernel
from tests.oracles import networks as oracle


@pytest.fixture
def network(rng):
    return approximated_kernel(rng, 60, 10)


def test_equals_the_definition(network):
    kernel, views, dmn = network
    expected = oracle.relative_error(dmn.transform(views), kernel(views))
    assert expected > 0.01
    assert gl.relative_error(dmn, kernel, views) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("budget", ["20 KB", 200_000])
def test_blocks_within_a_budget_give_the_same_number(network, budget):
    kernel, views, dmn = network
    whole = gl.relative_error(dmn, kernel, views)
    with gl.config_context(memory_budget=budget):
        assert gl.relative_error(dmn, kernel, views) == pytest.approx(whole, rel=1e-9)


def test_zero_on_the_landmarks(network):
    kernel, views, dmn = network
    assert gl.relative_error(dmn, kernel, views[dmn.landmark_indices_]) < 1e-8


def test_takes_any_transformer(network):
    kernel, views, _ = network
    X = np.asarray(views)
    nystroem = Nystroem(kernel=kernel, n_components=10, random_state=0).fit(X)
    expected = oracle.relative_error(nystroem.transform(X), kernel(views))
    assert gl.relative_error(nystroem, kernel, X) == pytest.approx(expected, rel=1e-9)


def test_signs_and_zeros():
    a = torch.tensor([[0.0, 1.0, -1.0, 0.0]])
    b = torch.tensor([[0.0, -1.0, -3.0, 2.0]])
    np.testing.assert_allclose(pairwise_relative_error(a, b), [[0.0, 1.0, 0.5, 1.0]])
