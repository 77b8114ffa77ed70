"""Ridge regression of signs: against scikit-learn's, and what is left out against fits without it."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge as LinearRidge

from gramless.errors import DataError
from gramless.heads.ridge import Ridge, kernel_head, linear_head, spectrum_of_gram, spectrum_of_vectors

SHAPES = [(40, 7), (12, 30)]  # more samples than features, and fewer


def problem(seed, n, d, n_labels=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    phi = (rng.normal(size=(n, d)) + 3.0).astype(dtype)
    signs = np.where(phi[:, :n_labels] + rng.normal(size=(n, n_labels)) > 3.0, 1.0, -1.0)
    return phi, signs, rng.choice([0.5, 1.0, 3.0], size=n)


def refit(phi, signs, weights, C, rows):
    """Predictions of all samples by scikit-learn's ridge regression fitted on some."""
    return LinearRidge(0.5 / C, solver="cholesky").fit(phi[rows], signs[rows], weights[rows]).predict(phi)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_heads_are_scikit_learns_ridge_regression(shape, C):
    phi, signs, weights = problem(0, *shape)
    expected = refit(phi, signs, weights, C, np.arange(len(phi)))
    on_vectors = Ridge.of(spectrum_of_vectors(phi, weights), signs)
    np.testing.assert_allclose(linear_head(on_vectors, phi, C).margins(phi), expected, atol=1e-8)
    gram = phi @ phi.T
    on_kernel = Ridge.of(spectrum_of_gram(gram, weights), signs)
    np.testing.assert_allclose(kernel_head(on_kernel, gram, C).margins(gram), expected, atol=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_a_sample_left_out_gets_what_a_fit_without_it_gives(shape, C):
    phi, signs, weights = problem(1, *shape)
    every = np.arange(len(phi))
    expected = np.array([refit(phi, signs, weights, C, every != i)[i] for i in every])
    for spectrum in (spectrum_of_vectors(phi, weights), spectrum_of_gram(phi @ phi.T, weights)):
        np.testing.assert_allclose(Ridge.of(spectrum, signs).left_out_one_by_one(C), expected, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_fold_left_out_gets_what_a_fit_without_it_gives(shape):
    phi, signs, weights = problem(2, *shape)
    folds = np.arange(len(phi)) % 4
    expected = np.empty(signs.shape)
    for fold in range(4):
        expected[folds == fold] = refit(phi, signs, weights, 2.0, folds != fold)[folds == fold]
    for spectrum in (spectrum_of_vectors(phi, weights), spectrum_of_gram(phi @ phi.T, weights)):
        np.testing.assert_allclose(Ridge.of(spectrum, signs).left_out_by_folds(2.0, folds), expected, atol=1e-6)


def test_a_weight_is_a_number_of_copies_of_a_sample():
    phi, signs, _ = problem(3, 20, 5)
    times = np.arange(20) % 3 + 1
    weighted = linear_head(Ridge.of(spectrum_of_vectors(phi, times.astype(float)), signs), phi, 1.0)
    copies = phi.repeat(times, axis=0)
    repeated = Ridge.of(spectrum_of_vectors(copies, np.ones(len(copies))), signs.repeat(times, axis=0))
    np.testing.assert_allclose(weighted.coefficients, linear_head(repeated, copies, 1.0).coefficients, atol=1e-9)


def test_vectors_of_float32_give_a_head_of_float32():
    phi, signs, weights = problem(4, 200, 6, dtype=np.float32)
    ridge = Ridge.of(spectrum_of_vectors(phi, weights), signs)
    head = linear_head(ridge, phi, 1.0)
    assert head.coefficients.dtype == head.intercepts.dtype == np.float32
    exact = Ridge.of(spectrum_of_vectors(phi.astype(float), weights), signs)
    np.testing.assert_allclose(ridge.left_out_one_by_one(1.0), exact.left_out_one_by_one(1.0), atol=1e-4)


class TestHostile:
    def test_constant_vectors_and_constant_labels(self):
        phi, signs = np.ones((6, 3)), np.array([[1.0, -1.0]] * 5 + [[1.0, 1.0]])
        ridge = Ridge.of(spectrum_of_vectors(phi, np.ones(6)), signs)
        np.testing.assert_allclose(ridge.left_out_one_by_one(1.0)[:, 0], 1.0)
        np.testing.assert_allclose(ridge.left_out_one_by_one(1.0)[5, 1], -1.0)  # the only positive is left out
        np.testing.assert_allclose(linear_head(ridge, phi, 1.0).margins(phi), signs.mean(0) * np.ones((6, 1)))

    def test_a_sample_that_alone_decides_its_answer_has_a_finite_one(self):
        ridge = Ridge.of(spectrum_of_gram(1e8 * np.eye(5), np.ones(5)), np.eye(5) * 2 - 1)
        assert np.isfinite(ridge.left_out_one_by_one(1e8)).all()
        assert np.isfinite(ridge.left_out_by_folds(1e8, np.arange(5))).all()

    def test_a_kernel_that_is_not_positive_semi_definite(self):
        gram = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
        ridge = Ridge.of(spectrum_of_gram(gram, np.ones(3)), np.array([[1.0], [-1.0], [1.0]]))
        assert np.isfinite(kernel_head(ridge, gram, 10.0).margins(gram)).all()

    def test_the_negative_part_of_a_kernel_counts_as_zero(self):
        phi, signs, _ = problem(5, 30, 4)
        rough = np.random.default_rng(0).normal(size=(30, 30)) * 0.02
        gram = phi @ phi.T + rough + rough.T  # eigenvalues from -0.2 to 0.2 besides the four large ones
        centring = np.eye(30) - 1 / 30
        values, vectors = np.linalg.eigh(centring @ gram @ centring)
        positive = (vectors * values.clip(min=0)) @ vectors.T
        expected = positive @ np.linalg.solve(positive + 5e-4 * np.eye(30), signs - signs.mean(0)) + signs.mean(0)
        found = kernel_head(Ridge.of(spectrum_of_gram(gram, np.ones(30)), signs), gram, 1e3).margins(gram)
        np.testing.assert_allclose(found, expected, atol=1e-8)

    def test_what_cannot_be_is_refused(self):
        phi, signs, weights = problem(0, 10, 3)
        with pytest.raises(DataError, match="10 samples need a positive, finite weight each"):
            spectrum_of_vectors(phi, np.r_[0.0, weights[1:]])
        with pytest.raises(DataError, match="hold NaN or infinity"):
            spectrum_of_gram(np.full((10, 10), np.nan), weights)
        with pytest.raises(DataError, match="9 samples have signs, but the spectrum is of 10"):
            Ridge.of(spectrum_of_vectors(phi, weights), signs[:9])
