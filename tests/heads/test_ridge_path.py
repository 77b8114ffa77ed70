"""Ridge regression on kernels and on vectors, against refits and scikit-learn's own."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV

from gramless.errors import DataError
from gramless.heads.ridge_path import (
    NORMAL_90,
    KernelRidgePath,
    MapRidgePath,
    Moments,
    RidgeSolution,
    Uncertainty,
    alpha_path,
    best_alphas,
    learn_uncertainty,
    leave_one_out_curve,
)
from tests.oracles import heads as oracle

ALPHAS = np.array([1e-3, 0.1, 10.0])
CLOSE = {"rtol": 1e-8, "atol": 1e-9}  # float64, and systems of condition n / alpha below 1e6


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 3))
    targets = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(25, 2))
    weights = rng.integers(1, 4, 25).astype(float)
    return X, RBF(1.5)(X), targets, weights


def paths(gram, targets, weights):
    """The same regressions on the kernel, and on vectors with the same inner products."""
    phi = np.linalg.cholesky(gram + 1e-13 * np.eye(len(gram)))
    yield KernelRidgePath.of(gram, targets, weights)
    yield MapRidgePath.of(Moments.of(phi, targets, weights), phi, targets, weights)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_left_out_samples_are_those_of_refits(problem, alpha):
    _, gram, targets, weights = problem
    residuals, variances = oracle.left_out(gram, targets, alpha, weights)
    for path in paths(gram, targets, weights):
        found, unknown = path.left_out(alpha)
        np.testing.assert_allclose(found, residuals, **CLOSE)
        np.testing.assert_allclose(unknown, variances, **CLOSE)


def test_a_weight_is_so_many_copies(problem):
    X, _, targets, weights = problem
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    ones = np.ones(len(rows))
    found = MapRidgePath.of(Moments.of(X, targets, weights), X, targets, weights)
    copied = MapRidgePath.of(Moments.of(X[rows], targets[rows], ones), X[rows], targets[rows], ones)
    solutions = found.solution(ALPHAS[:2]), copied.solution(ALPHAS[:2])
    np.testing.assert_allclose(solutions[0].coefficients, solutions[1].coefficients, **CLOSE)


def test_solutions_are_kernel_ridge_and_a_gaussian_process(problem):
    X, gram, targets, weights = problem
    new = np.random.default_rng(4).normal(size=(7, 3))
    for alpha in ALPHAS:
        weighted = KernelRidge(kernel="precomputed", alpha=alpha).fit(gram, targets, sample_weight=weights)
        solution = KernelRidgePath.of(gram, targets, weights).solution(np.full(2, alpha))
        np.testing.assert_allclose(solution.means(RBF(1.5)(new, X)), weighted.predict(RBF(1.5)(new, X)), **CLOSE)
        process = GaussianProcessRegressor(RBF(1.5, "fixed"), alpha=alpha).fit(X, targets)
        means, deviations = process.predict(new, return_std=True)
        phi = np.linalg.cholesky(gram + 1e-13 * np.eye(len(gram)))
        at_new = np.linalg.solve(phi, RBF(1.5)(X, new)).T
        ones = np.ones(len(X))
        on_kernel = KernelRidgePath.of(gram, targets, ones).solution(np.full(2, alpha))
        on_vectors = MapRidgePath.of(Moments.of(phi, targets, ones), phi, targets, ones).solution(np.full(2, alpha))
        for found, features in ((on_kernel, RBF(1.5)(new, X)), (on_vectors, at_new)):
            np.testing.assert_allclose(found.means(features), means, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(
                found.variances(features, np.ones(7)), np.square(deviations), rtol=1e-5, atol=1e-7
            )


def test_every_target_gets_its_own_strength_as_from_ridge_cv(problem):
    X, _, targets, weights = problem
    path = MapRidgePath.of(Moments.of(X, targets, weights), X, targets, weights)
    curve = leave_one_out_curve(path, ALPHAS, weights)
    chosen = best_alphas(ALPHAS, curve)
    for target in range(2):
        rival = RidgeCV(ALPHAS, fit_intercept=False).fit(X, targets[:, target], sample_weight=weights)
        assert chosen[target] == rival.alpha_
        np.testing.assert_allclose(path.solution(chosen).coefficients[target], rival.coef_, **CLOSE)


def test_of_equal_errors_the_strongest_ridge_is_taken():
    np.testing.assert_array_equal(best_alphas(ALPHAS, np.zeros((3, 2))), [10.0, 10.0])


def test_moments_add_up_over_blocks(problem):
    X, _, targets, weights = problem
    whole = Moments.of(X, targets, weights)
    parts = Moments.of(X[:9], targets[:9], weights[:9]) + Moments.of(X[9:], targets[9:], weights[9:])
    np.testing.assert_allclose(parts.gram, whole.gram, rtol=1e-13)
    np.testing.assert_allclose(parts.products, whole.products, rtol=1e-12, atol=1e-13)


def test_rows_may_be_left_out_of_a_regression_on_many_more(problem):
    X, _, targets, _ = problem
    ones = np.ones(25)
    moments = Moments.of(X, targets, ones)
    everybody = MapRidgePath.of(moments, X, targets, ones).left_out(0.1)
    some = MapRidgePath.of(moments, X[:6], targets[:6], ones[:6]).left_out(0.1)
    np.testing.assert_allclose(some[0], everybody[0][:6], rtol=1e-12)
    np.testing.assert_allclose(some[1], everybody[1][:6], rtol=1e-10)


@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0])
def test_uncertainty_finds_spread_and_noise(noise):
    rng = np.random.default_rng(0)
    variances = rng.gamma(1.0, 1.0, size=(20_000, 1))
    residuals = rng.normal(size=variances.shape) * np.sqrt(2.0 * variances + noise)
    found = learn_uncertainty(residuals, variances, np.ones(len(variances)))
    # One of NOISES, which stand 10^0.25 apart, and a quantile of 20,000 samples.
    assert found.noise[0] == pytest.approx(noise, rel=0.35, abs=1e-4)
    assert found.spread[0] == pytest.approx(2.0, rel=0.2)
    inside = np.abs(residuals) <= NORMAL_90 * found.deviations(variances)
    assert inside.mean() == pytest.approx(0.9, abs=1e-3)


def test_long_tails_are_covered_as_far_as_they_should_be():
    residuals = np.random.default_rng(0).standard_t(2, size=(20_000, 1))
    found = learn_uncertainty(residuals, np.ones_like(residuals), np.ones(len(residuals)))
    assert np.mean(np.abs(residuals) <= NORMAL_90 * found.deviations(np.ones((1, 1)))) == pytest.approx(0.9, abs=1e-3)


def test_weights_count_in_uncertainty_as_copies_do():
    rng = np.random.default_rng(1)
    residuals, variances, weights = rng.normal(size=(40, 1)), rng.random((40, 1)), rng.integers(1, 5, 40)
    rows = np.repeat(np.arange(40), weights)
    found = learn_uncertainty(residuals, variances, weights.astype(float))
    expected = learn_uncertainty(residuals[rows], variances[rows], np.ones(len(rows)))
    np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-12)
    np.testing.assert_allclose(found.noise, expected.noise, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_few_samples_and_targets_without_spread(n):
    gram, targets, ones = np.ones((n, n)), np.zeros((n, 3)), np.ones(n)
    for path in (
        KernelRidgePath.of(gram, targets, ones),
        MapRidgePath.of(Moments.of(np.ones((n, 1)), targets, ones), np.ones((n, 1)), targets, ones),
    ):
        residuals, variances = path.left_out(1e-10)
        assert np.isfinite(residuals).all()
        assert np.isfinite(variances).all()
        uncertainty = learn_uncertainty(residuals, np.repeat(variances[:, None], 3, 1), ones)
        np.testing.assert_array_equal(uncertainty.deviations(np.ones((1, 3))), 0.0)


def test_samples_all_alike_leave_a_finite_answer():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(50, 1))
    path = KernelRidgePath.of(np.ones((50, 50)), targets, np.ones(50))
    for alpha in alpha_path(1.0, 1e-10):
        assert np.isfinite(path.solution(np.array([alpha])).coefficients).all()
    residuals, _ = path.left_out(1e-10)
    others = (targets.sum() - targets) / 49  # the mean of all others is what is known of each
    np.testing.assert_allclose(residuals, targets - others, atol=1e-4)  # ridge 1e-10 against rounding 50 x 1e-16


def test_a_kernel_that_is_zero_everywhere_has_a_path():
    assert (alpha_path(0.0, 1e-5) > 0).all()


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="basis"):
        RidgeSolution(np.zeros((1, 3)), np.zeros((2, 2)), np.zeros((2, 1)))
    with pytest.raises(DataError, match="shrinkage"):
        RidgeSolution(np.zeros((1, 3)), np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(DataError, match="noise"):
        Uncertainty(np.ones(2), np.array([1.0, np.nan]))
    with pytest.raises(DataError, match="at least 0"):
        Uncertainty(np.array([-1.0]), np.ones(1))
