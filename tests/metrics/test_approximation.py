"""The relative error against its definition, pair by pair; that of a sample against that of all samples."""

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


@pytest.fixture(scope="module")
def many():
    return approximated_kernel(np.random.default_rng(1), 400, 8)


def test_all_samples_give_the_error_itself_and_no_interval(many):
    kernel, views, dmn = many
    estimate = gl.sampled_relative_error(dmn, kernel, views, n_samples=400)
    whole = gl.relative_error(dmn, kernel, views)
    assert estimate.value == pytest.approx(whole, rel=1e-9)
    assert estimate.low == pytest.approx(whole, rel=1e-6)
    assert estimate.high == pytest.approx(whole, rel=1e-6)


def test_intervals_hold_the_true_error_as_often_as_they_say(many):
    kernel, views, dmn = many
    whole = gl.relative_error(dmn, kernel, views)
    estimates = [gl.sampled_relative_error(dmn, kernel, views, 60, seed=seed) for seed in range(200)]
    held = np.mean([estimate.low <= whole <= estimate.high for estimate in estimates])
    assert 0.90 <= held <= 0.99
    assert np.mean([estimate.value for estimate in estimates]) == pytest.approx(whole, rel=0.02)


def test_the_interval_shrinks_with_more_samples_and_less_confidence(many):
    kernel, views, dmn = many

    def width(n_samples, confidence):
        estimate = gl.sampled_relative_error(dmn, kernel, views, n_samples, confidence=confidence)
        return estimate.high - estimate.low

    assert width(200, 0.95) < width(40, 0.95)
    assert width(40, 0.5) < width(40, 0.95)


def test_data_in_blocks_gives_what_data_in_memory_does(many):
    kernel, views, dmn = many
    arrays = {name: views[name] for name in views.names}
    whole = gl.sampled_relative_error(dmn, kernel, views, 50, seed=3)
    assert gl.sampled_relative_error(dmn, kernel, gl.in_blocks(arrays, rows=37), 50, seed=3) == whole

    def pieces():
        for start in range(0, 400, 90):
            yield {name: array[start : start + 90] for name, array in arrays.items()}

    unknown_length = gl.sampled_relative_error(dmn, kernel, gl.in_blocks(pieces), 50, seed=3)
    assert unknown_length.value == pytest.approx(whole.value, rel=0.05)  # without the pairs of a sample with itself
    assert unknown_length.high - unknown_length.low > whole.high - whole.low


def test_said_for_people(many):
    kernel, views, dmn = many
    assert "95% confidence" in str(gl.sampled_relative_error(dmn, kernel, views, 40))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"n_samples": 3}, r"'n_samples' .* range \[10, .* Got 3 instead"),
        ({"n_samples": 10**400}, "'n_samples'"),
        ({"n_samples": 1e300}, "'n_samples'"),
        ({"confidence": 1.5}, r"'confidence' .* Got 1\.5 instead"),
        ({"seed": -1}, "'seed'"),
        ({"seed": float("inf")}, "'seed'"),
    ],
)
def test_what_cannot_be_is_refused(many, options, reason):
    kernel, views, dmn = many
    with pytest.raises((ValueError, gl.MemoryBudgetError), match=reason):
        gl.sampled_relative_error(dmn, kernel, views, **options)


def test_more_memory_than_there_may_be_is_refused(many):
    kernel, views, dmn = many
    with gl.config_context(memory_budget=1000), pytest.raises(gl.MemoryBudgetError, match="budget"):
        gl.sampled_relative_error(dmn, kernel, views)


def test_too_few_samples_in_the_data_are_refused(many):
    kernel, views, dmn = many
    for function in (gl.relative_error, gl.sampled_relative_error):
        with pytest.raises(TypeError, match="got float and DeepKernel"):
            function(1.5, kernel, views)
        with pytest.raises(TypeError, match="got DeepMapNetwork and str"):
            function(dmn, "linear", views)
    with pytest.raises(gl.DataError, match="too few"):
        gl.sampled_relative_error(dmn, kernel, views[:5])
