"""Weights that are expected near those of the start, but for a factor in common."""

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad

import gramless as gl
from gramless.learning import ElementaryValues, LeaveOneOut, learn_by_leave_one_out
from gramless.learning.ridge_trainer import FIRST_RIDGE, Likely, descend, started
from gramless.support.progress import ProgressBar


@pytest.fixture
def problem():
    """Ten columns, of which one tells all."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 10)).astype(np.float32)
    views = gl.Views(X, {f"x{i}": [i] for i in range(10)})
    kernel = gl.DeepKernelNetwork(learning=None, random_state=0).fit(views).kernel_
    targets = torch.from_numpy(np.sin(6 * X[:, :1].astype(np.float64)))
    return kernel, ElementaryValues(kernel, views, None, 1 << 30), targets - targets.mean(0)


def learned(problem, n_copies):
    """Logarithms of what weights were multiplied with, for as many equal targets: errors as large, but more of them."""
    kernel, elementary, targets = problem
    result = learn_by_leave_one_out(kernel.layers, elementary, targets.repeat(1, n_copies), LeaveOneOut(30))
    first = started(kernel.layers, elementary)[0].weights[0]
    return (result.layers[0].weights[0] / first).log().numpy()


def test_the_fewer_errors_the_closer_to_a_common_factor(problem):
    moved = [learned(problem, n_copies).std() for n_copies in (1, 10, 1000)]
    assert moved[0] < moved[1] < moved[2]


def test_weights_that_are_tied_follow_their_gain_alone(problem):
    kernel, elementary, targets = problem
    start = started(kernel.layers, elementary)
    with ProgressBar("", 1) as progress:
        tied = descend(start, elementary, targets, FIRST_RIDGE, 30, progress, tied=True).layers[0].weights
    factors = tied / start[0].weights
    assert abs(factors.mean().log()) > 0.01
    torch.testing.assert_close(factors, factors.mean().expand_as(factors))


def test_a_common_factor_is_free():
    value, slope = Likely(np.zeros(3), 1e-3).unlikeliness(np.array([2.0, 2.0, 2.0]), 1)
    assert value == 0.0
    np.testing.assert_array_equal(slope, 0.0)


@pytest.mark.parametrize("n", [2, 7])
def test_its_slope_is_that_of_differences(n, rng):
    likely, moved = Likely(rng.normal(size=n), 0.7), rng.normal(size=n)
    assert likely.unlikeliness(moved, 5)[0] > 0
    assert check_grad(lambda x: likely.unlikeliness(x, 5)[0], lambda x: likely.unlikeliness(x, 5)[1], moved) < 1e-6


def test_without_a_spread_nothing_is_unlikely():
    value, slope = Likely(np.zeros(3), np.inf).unlikeliness(np.array([1.0, -5.0, 2.0]), 10)
    assert value == 0.0
    np.testing.assert_array_equal(slope, 0.0)
