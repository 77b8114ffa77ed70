"""Weights that are expected near those of the start, but for a factor in common."""

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad

import gramless as gl
from gramless.learning import ElementaryValues, LeaveOneOut, learn_by_leave_one_out
from gramless.learning.ridge_trainer import _unlikeliness, started


@pytest.fixture
def problem():
    """Ten columns, of which one tells all."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 10)).astype(np.float32)
    views = gl.Views(X, {f"x{i}": [i] for i in range(10)})
    kernel = gl.DeepKernelNetwork(learning=None, random_state=0).fit(views).kernel_
    targets = torch.from_numpy(np.sin(6 * X[:, :1].astype(np.float64)))
    return kernel, ElementaryValues(kernel, views, None, 1 << 30), targets - targets.mean(0)


def learned(problem, spread):
    kernel, elementary, targets = problem
    settings = LeaveOneOut(max_evaluations=30)
    result = learn_by_leave_one_out(kernel.layers, elementary, targets, settings, spread_of_shares=spread)
    first = started(kernel.layers, elementary)[0].weights[0]
    return (result.layers[0].weights[0] / first).log().numpy()


def test_the_narrower_the_closer_to_a_common_factor(problem):
    moved = [learned(problem, spread).std() for spread in (np.inf, 0.5, 1e-3)]
    assert moved[0] > moved[1] > moved[2]
    assert moved[2] < 0.01


def test_a_common_factor_and_the_ridge_are_free():
    value, slope = _unlikeliness(np.array([2.0, 2.0, 2.0, 5.0]), 1e-6)
    assert value == 0.0
    np.testing.assert_array_equal(slope, 0.0)


def test_its_slope_is_that_of_differences():
    rng = np.random.default_rng(1)
    for n in (2, 7):
        moved = rng.normal(size=n)
        value, slope = _unlikeliness(moved, 3.0)
        assert value >= 0
        assert slope[-1] == 0.0
        assert check_grad(lambda x: _unlikeliness(x, 3.0)[0], lambda x: _unlikeliness(x, 3.0)[1], moved) < 1e-6


def test_without_a_spread_nothing_is_unlikely():
    value, slope = _unlikeliness(np.array([1.0, -5.0, 2.0]), np.inf)
    assert value == 0.0
    np.testing.assert_array_equal(slope, 0.0)
