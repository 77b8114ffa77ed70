"""Numbers that a network is learned from: a few outliers do not decide its weights."""

from statistics import NormalDist, quantiles

import numpy as np
import pytest

import gramless as gl
from gramless.estimators.number_learning import without_outliers
from gramless.estimators.numbers import Numbers


def test_outliers_are_set_five_deviations_from_the_median(rng):
    targets = rng.normal(size=(41, 2))
    targets[[3, 8], 0] = 1e3, -1e6
    found = without_outliers(targets)
    for given, kept in zip(targets.T.tolist(), found.T.tolist(), strict=True):
        low, median, high = quantiles(given, n=4, method="inclusive")
        reach = 5 * (high - low) / (2 * NormalDist().inv_cdf(0.75))
        expected = [min(max(number, median - reach), median + reach) for number in given]
        np.testing.assert_allclose(kept, expected, rtol=1e-12)
    assert np.abs(found).max() < 10
    np.testing.assert_array_equal(found[:, 1], targets[:, 1])


def test_a_target_whose_quartiles_coincide_stays():
    targets = np.zeros((20, 1))
    targets[0] = 7.0
    np.testing.assert_array_equal(without_outliers(targets), targets)


def test_weights_do_not_depend_on_how_far_out_an_outlier_is(rng):
    X = rng.random((80, 3)).astype(np.float32)
    weights = []
    for outlier in (1e2, 1e3):
        y = np.sin(6 * X[:, 0])
        y[5] = outlier
        model = gl.DeepKernelRegressor(random_state=0).fit(X, y)
        names = [entry.kernel.name for entry in model.kernel_.inputs]
        weight_of = dict(zip(names, model.kernel_.layers[0].weights[0].tolist(), strict=True))
        weights.append(np.array([weight_of[f"distance of column {i}"] for i in range(3)]))
    np.testing.assert_allclose(weights[0], weights[1], rtol=0.05)
    assert weights[1][0] > 2 * weights[1][1:].max()


def test_fewer_samples_than_there_are_because_of_the_budget_are_said(rng):
    X = rng.random((80, 3)).astype(np.float32)
    words = "learning the kernel takes 40 samples instead of 80: the memory budget"
    with gl.config_context(memory_budget=40 * 40**2), pytest.warns(UserWarning, match=words):
        gl.DeepKernelNetwork(random_state=0).fit_views(gl.Views(X), Numbers(X[:, :1].astype(float)))
