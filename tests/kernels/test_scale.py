"""The width of distance kernels: a number, or read off the data."""

import numpy as np
import pytest
import torch

from gramless.errors import DataError
from gramless.kernels import ChiSquare, Gaussian, Laplacian, RationalQuadratic
from tests.contracts.samples import generator
from tests.oracles import kernels as oracle

KERNELS = {
    "gaussian": (Gaussian, oracle.euclidean),
    "rational-quadratic": (RationalQuadratic, oracle.euclidean),
    "laplacian": (Laplacian, oracle.city_block),
    "chi2": (ChiSquare, oracle.chi_square_distance),
}
every_kernel = pytest.mark.parametrize(("kind", "distance"), KERNELS.values(), ids=KERNELS)
every_rule = pytest.mark.parametrize("rule", ["mean", "neighbours"])


def settle(kernel, X, seed=0):
    return kernel.fit(torch.from_numpy(X), generator(seed)).scale


@every_kernel
def test_mean_is_the_mean_over_pairs_of_different_samples(kind, distance, rng):
    X = rng.random((23, 4))
    assert settle(kind(scale="mean"), X) == pytest.approx(oracle.mean_distance(distance, X), rel=1e-9)


@every_kernel
@pytest.mark.parametrize("n_neighbours", [1, 3, 10])
def test_neighbours_is_the_mean_over_the_nearest_other_samples(kind, distance, n_neighbours, rng):
    X = rng.random((23, 4))
    expected = oracle.neighbour_distance(distance, X, n_neighbours)
    assert settle(kind(scale="neighbours", n_neighbours=n_neighbours), X) == pytest.approx(expected, rel=1e-9)


@every_kernel
def test_all_other_samples_are_neighbours_where_there_are_few(kind, distance, rng):
    X = rng.random((5, 4))
    expected = oracle.mean_distance(distance, X)
    assert settle(kind(scale="neighbours", n_neighbours=10), X) == pytest.approx(expected, rel=1e-9)


@every_rule
def test_more_samples_than_are_looked_at_give_an_estimate(rule, rng):
    """1,000 queries at most; the exact value, over 1,300 samples, is within a few standard errors."""
    X = rng.random((1300, 3))
    rows = [np.sort(np.linalg.norm(X - x, axis=1))[1:] for x in X]  # without the sample itself
    per_sample = [row.mean() if rule == "mean" else row[:10].mean() for row in rows]
    margin = 5 * np.std(per_sample) / np.sqrt(1000)
    estimate = settle(Gaussian(scale=rule), X)
    assert estimate == pytest.approx(np.mean(per_sample), abs=margin)
    assert estimate == settle(Gaussian(scale=rule), X)
    assert estimate != settle(Gaussian(scale=rule), X, seed=1)


@every_kernel
@every_rule
@pytest.mark.parametrize("value", [0.0, 0.1, 1e4 + 0.1])
def test_coinciding_samples_have_width_one(kind, distance, rule, value):
    assert settle(kind(scale=rule), np.full((7, 3), value)) == 1.0


@every_kernel
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_samples_whose_neighbours_all_coincide_with_them_have_width_one(kind, distance, offset, rng):
    """Their distances are 0; what rounding makes of them is not a width."""
    X = np.repeat(rng.random((5, 30)) + offset, 12, axis=0)
    assert settle(kind(scale="neighbours", n_neighbours=10), X) == 1.0


@every_kernel
@every_rule
def test_one_sample_has_width_one(kind, distance, rule):
    assert settle(kind(scale=rule), np.array([[0.25, 3.0]])) == 1.0


@every_kernel
@every_rule
def test_a_settled_kernel_is_a_new_value_that_works(kind, distance, rule, rng):
    samples = torch.from_numpy(rng.random((9, 3)))
    kernel = kind(scale=rule, normalize=True)
    fitted = kernel.fit(samples, generator())
    assert kernel.scale == rule
    assert (type(fitted), fitted.normalize) == (kind, True)
    assert fitted.pairwise(samples, samples).isfinite().all()


@every_kernel
def test_a_number_stays_as_it_is(kind, distance, rng):
    assert settle(kind(scale=2.5), rng.random((9, 3))) == 2.5


@every_kernel
@every_rule
def test_an_unsettled_width_is_refused(kind, distance, rule):
    with pytest.raises(RuntimeError, match=rf"'{rule}'.*fit"):
        kind(scale=rule).pairwise(torch.ones(2, 2), torch.ones(2, 2))


@every_kernel
@pytest.mark.parametrize("bad", [0, 0.0, -1.0, float("nan"), "median", "Mean", ""])
def test_a_width_that_is_none_is_refused(kind, distance, bad):
    with pytest.raises(ValueError, match="scale"):
        kind(scale=bad)


@every_kernel
@pytest.mark.parametrize("bad", [0, -2])
def test_fewer_than_one_neighbour_is_refused(kind, distance, bad, rng):
    with pytest.raises(ValueError, match="neighbours"):
        settle(kind(scale="neighbours", n_neighbours=bad), rng.random((9, 3)))


def test_the_domain_is_checked_before_the_width_is_read_off():
    with pytest.raises(DataError, match=r"-0\.5"):
        settle(ChiSquare(), np.array([[1.0, 2.0], [-0.5, 1.0]]))
