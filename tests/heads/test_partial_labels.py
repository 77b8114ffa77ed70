"""Labels that are not known of every sample: LIBLINEAR and scikit-learn's Ridge on the samples of which they are."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from gramless.errors import DataError
from gramless.heads.partial_labels import fit_known_hinges, fit_known_ridges
from tests.heads.test_batched import AMPLE, problem


def partly(rng, share=0.4, **sizes):
    X, signs = problem(rng, **sizes)
    return X, np.where(rng.random(signs.shape) < share, 0.0, signs)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_every_label_is_learned_from_the_samples_of_which_it_is_known(rng, C):
    X, signs = partly(rng, n=120, rates=(0.5, 0.3, 0.2))
    head = fit_known_hinges(X, signs, C, budget=AMPLE)
    for label, sign in enumerate(signs.T):
        known = sign != 0
        machine = LinearSVC(C=C, tol=1e-10, dual=True, max_iter=10**6).fit(X[known], sign[known])
        expected = X @ machine.coef_[0] + machine.intercept_[0]
        # the solver stops at a gradient of 1e-4 of the first one
        np.testing.assert_allclose(head.margins(X)[:, label], expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_every_ridge_is_that_of_the_samples_of_which_its_label_is_known(rng, C, share):
    X, signs = partly(rng, share, n=120, rates=(0.5, 0.3, 0.2))
    X = X + 100.0  # far from the origin, where the bias has to take it
    signs[:, 2] = signs[:, 0]  # known of the same samples: one system of equations for both
    signs[:2] = [[1], [-1]]
    head = fit_known_ridges(X, signs, C)
    for label, sign in enumerate(signs.T):
        known = sign != 0
        machine = Ridge(alpha=0.5 / C, solver="svd").fit(X[known], sign[known])
        # products of vectors of size 100 lose 100^2 of float64's 2e-16
        np.testing.assert_allclose(head.margins(X)[:, label], machine.predict(X), rtol=1e-9, atol=1e-9)


def test_ridges_of_fewer_samples_than_columns_of_copies_and_of_no_penalty(rng):
    X = rng.normal(size=(6, 20)).astype(np.float32)
    signs = np.sign(rng.normal(size=(6, 3)))
    signs[:2] = [[1], [-1]]
    head = fit_known_ridges(X, signs, np.inf)
    assert head.coefficients.dtype == np.float32
    np.testing.assert_allclose(head.margins(X), signs, atol=1e-4)  # six samples, twenty columns: no error is left
    same = fit_known_ridges(np.ones((4, 3)), np.array([[1.0], [1.0], [-1.0], [0.0]]), 1.0)
    np.testing.assert_allclose(same.margins(np.ones((1, 3))), [[1 / 3]])


def test_what_is_not_known_does_not_matter(rng):
    X, signs = partly(rng)
    unknown = (signs == 0).all(1)
    Y = np.where(unknown[:, None], 1e3, X)
    a, b = (fit_known_hinges(Z[~unknown], signs[~unknown], 1.0, budget=AMPLE) for Z in (X, Y))
    c = fit_known_hinges(np.vstack([X, 50.0 * X[:9]]), np.vstack([signs, np.zeros((9, 4))]), 1.0, budget=AMPLE)
    np.testing.assert_array_equal(a.coefficients, b.coefficients)
    expected = fit_known_hinges(X, signs, 1.0, budget=AMPLE).margins(X)
    np.testing.assert_allclose(c.margins(X), expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("fit", [partial(fit_known_hinges, budget=AMPLE), fit_known_ridges])
def test_labels_of_which_only_one_side_or_nothing_is_known(rng, fit):
    X = rng.normal(size=(5, 3))
    signs = np.array([[1, -1, 0], [0, 0, 0], [1, -1, 0], [0, -1, 0], [1, 0, 0]], dtype=float)
    head = fit(X, signs, 1.0)
    assert head.margins(X).tolist() == [[1.0, -1.0, -1.0]] * 5


def test_one_sample_of_each_side_and_float32(rng):
    X = rng.normal(size=(40, 3)).astype(np.float32)
    signs = np.zeros((40, 1))
    signs[3], signs[7] = 1, -1
    head = fit_known_hinges(X, signs, 10.0, budget=1)
    assert head.coefficients.dtype == np.float32
    assert head.margins(X)[3, 0] > 0 > head.margins(X)[7, 0]


@pytest.mark.parametrize("fit", [partial(fit_known_hinges, budget=AMPLE), fit_known_ridges])
@pytest.mark.parametrize(
    ("X", "signs"),
    [
        (np.zeros((4, 3)), np.full((4, 2), 2.0)),
        (np.zeros((4, 3)), np.full((4, 2), np.nan)),
        (np.zeros((4, 3)), np.zeros((3, 2))),
        (np.full((4, 3), np.nan), np.zeros((4, 2))),
        (np.full((4, 3), np.inf), np.zeros((4, 2))),
    ],
)
def test_signs_and_vectors_that_are_none_are_refused(X, signs, fit):
    with pytest.raises(DataError):
        fit(X, signs, 1.0)
