"""The unary map of histogram intersection, and Proposition 1."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.errors import DataError
from gramless.kernels import Intersection
from gramless.maps.explicit import Unary, inner
from tests.contracts.samples import generator
from tests.maps.explicit.cases import UNARY
from tests.oracles import kernels as oracle
from tests.oracles import maps as map_oracle

every_rounding = pytest.mark.parametrize("rounding", ["floor", "nearest"])


@st.composite
def histograms(draw):
    """Non-negative samples whose features have any range, some of them none."""
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    values = draw(arrays(np.float64, (n, d), elements=st.integers(0, 10**6).map(lambda i: i / 10**6)))
    units = draw(arrays(np.float64, d, elements=st.sampled_from([0.01, 1.0, 300.0])))
    lowest = draw(arrays(np.float64, d, elements=st.sampled_from([0.0, 0.3, 50.0])))
    constant = draw(arrays(np.bool_, d))
    return np.where(constant, lowest, lowest + units * values)


def fit(samples, levels, rounding="nearest", **options):
    return Unary(levels, rounding).fit(Intersection(), torch.from_numpy(samples), generator(), **options)


@pytest.mark.parametrize("levels", [2, 8, 64, 255])
@every_rounding
@given(X=histograms())
def test_proposition_1(rounding, levels, X):
    """Within (1/Q) sum_d (u_d - l_d) of the kernel, for all pairs; half of that for the nearest level."""
    explicit = fit(X, levels, rounding)
    samples = torch.from_numpy(X)
    exact = oracle.matrix(oracle.intersection, X, X)
    bound = map_oracle.proposition_1_bound(X.min(0), X.max(0), levels)
    slack = 1e-12 * (1 + exact.max())
    phi, compressed = explicit.transform(samples), explicit.compress(samples)
    for values in (phi @ phi.T, inner(compressed, compressed)):
        error = values.numpy() - exact
        assert np.abs(error).max() <= (bound if rounding == "floor" else bound / 2) + slack
        if rounding == "floor":
            assert error.max() <= slack  # the paper's quantiser is never too high


@pytest.mark.parametrize("case", UNARY, ids=str)
def test_normalised_or_not_the_error_is_the_bound_over_the_sizes_of_the_samples(case, rng):
    x = torch.from_numpy(rng.random((7, 4)))
    explicit = case.fit(x)
    bound = map_oracle.proposition_1_bound(x.numpy().min(0), x.numpy().max(0), case.recipe.levels)
    own = oracle.diagonal(oracle.intersection, x.numpy()) if case.kernel.normalize else np.ones(7)
    error = np.abs((explicit.transform(x) @ explicit.transform(x).T).numpy() - case.kernel_values(x, x))
    assert (error <= bound / np.sqrt(np.outer(own, own)) + 1e-12).all()
    assert error.max() > 0


@every_rounding
def test_vectors_are_those_of_equations_2_and_3(rounding, rng):
    X = np.hstack([rng.random((6, 3)) + 0.2, np.full((6, 1), 0.4)])
    expected = [map_oracle.unary_map(x, X.min(0), X.max(0), 5, rounding == "nearest") for x in X]
    explicit = fit(X, 5, rounding)
    assert explicit.n_columns == 4 * (5 + 1)
    np.testing.assert_allclose(explicit.transform(torch.from_numpy(X)), expected, rtol=0, atol=1e-14)


def test_codes_count_levels_and_a_constant_feature_has_none():
    X = np.array([[0.0, 7.0], [1.0, 7.0], [2.6, 7.0], [4.0, 7.0]])
    samples = torch.from_numpy(X)
    assert fit(X, 4, "floor").codes(samples).tolist() == [[0, 0], [1, 0], [2, 0], [4, 0]]
    assert fit(X, 4, "nearest").codes(samples).tolist() == [[0, 0], [1, 0], [3, 0], [4, 0]]


@every_rounding
@pytest.mark.parametrize("levels", [2, 7, 255])
def test_the_smallest_value_of_a_feature_has_code_0_and_the_largest_has_code_q(levels, rounding, rng):
    """Whatever its range is: (u - l) / ((u - l) / Q) would round to less than Q for one range in eight."""
    X = np.vstack([np.zeros(200), rng.random(200)])
    codes = fit(X, levels, rounding).codes(torch.from_numpy(X))
    assert (codes[0] == 0).all()
    assert (codes[1] == levels).all()


@every_rounding
def test_constant_features_are_exact(rounding):
    X = np.full((3, 2), 0.7)
    phi = fit(X, 8, rounding).transform(torch.from_numpy(X))
    np.testing.assert_allclose(phi @ phi.T, np.full((3, 3), 1.4), rtol=1e-14)


def test_samples_outside_the_bounds_are_taken_as_the_nearest_bound():
    explicit = fit(np.array([[1.0], [3.0]]), 10)
    outside, bounds = torch.tensor([[0.2], [50.0]]).double(), torch.tensor([[1.0], [3.0]]).double()
    assert torch.equal(explicit.transform(outside), explicit.transform(bounds))


def test_bounds_come_from_all_samples_where_they_are_given(rng):
    X = rng.random((5, 3))
    low, high = torch.zeros(3).double(), torch.full((3,), 2.0).double()
    explicit = fit(X, 50, "floor", bounds=lambda: (low, high))
    expected = [map_oracle.unary_map(x, low.numpy(), high.numpy(), 50, False) for x in X]
    np.testing.assert_allclose(explicit.transform(torch.from_numpy(X)), expected, rtol=0, atol=1e-14)


def test_the_nearest_level_removes_the_bias_of_the_floor(rng):
    """Half a step per feature."""
    X = rng.random((60, 6))
    samples, exact = torch.from_numpy(X), oracle.matrix(oracle.intersection, X, X)
    bias = {}
    for rounding in ("floor", "nearest"):
        phi = fit(X, 16, rounding).transform(samples).numpy()
        bias[rounding] = (phi @ phi.T - exact).mean() / map_oracle.proposition_1_bound(X.min(0), X.max(0), 16)
    assert bias["floor"] == pytest.approx(-0.5, abs=0.05)
    assert bias["nearest"] == pytest.approx(0.0, abs=0.05)


def test_negative_samples_are_refused():
    with pytest.raises(DataError, match=r"-0\.5"):
        fit(np.array([[-0.5], [1.0]]), 4)
    with pytest.raises(DataError, match=r"-0\.5"):
        fit(np.array([[0.5], [1.0]]), 4).transform(torch.tensor([[-0.5]]))
