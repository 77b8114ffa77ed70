"""DeepKernelRegressor and DeepMapRegressor: what they say of numbers, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.model_selection import GridSearchCV

import gramless as gl
from gramless.estimators.numbers import TargetScale
from gramless.learning import LeaveOneOut
from tests.oracles import heads as oracle

SOON = gl.DeepKernelNetwork(learning=LeaveOneOut(max_evaluations=8))
BOTH = [
    pytest.param(lambda **given: gl.DeepKernelRegressor(SOON, random_state=0, **given), id="kernel"),
    pytest.param(lambda **given: gl.DeepMapRegressor(SOON, 40, random_state=0, **given), id="map"),
]


def wave(n, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)).astype(np.float32)
    y = np.sin(4 * X[:, 0]) + 2 * X[:, 1] * X[:, 2]
    return X, y + noise * rng.normal(size=n)


class Fixed(Kernel):
    """A deep kernel for scikit-learn's Gaussian process."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, X, Y=None, eval_gradient=False):
        return np.asarray(self.kernel(X, Y), dtype=np.float64)

    def diag(self, X):
        return np.asarray(self.kernel.diagonal(X), dtype=np.float64)

    def is_stationary(self):
        return False


def test_the_kernel_regressor_is_a_gaussian_process():
    X, y = wave(60)
    X, new = X.astype(np.float64), wave(20, 1)[0].astype(np.float64)
    kernel = gl.DeepKernelNetwork(weights="uniform", learning=None, random_state=0).fit(X).kernel_
    process = GaussianProcessRegressor(Fixed(kernel), alpha=0.05, optimizer=None, normalize_y=True).fit(X, y)
    model = gl.DeepKernelRegressor(kernel, alpha=0.05).fit(X, y)
    means, deviations = process.predict(new, return_std=True)
    found, with_noise = model.predict(new, return_std=True)
    np.testing.assert_allclose(found, means, rtol=1e-9, atol=1e-9)
    scale, noise = model.uncertainty_.spread[0], model.uncertainty_.noise[0] * y.var()
    np.testing.assert_allclose(np.square(with_noise) - noise, scale * np.square(deviations), rtol=1e-6, atol=1e-9)


def test_a_map_with_every_sample_a_landmark_is_the_kernel_regressor():
    X, y = wave(60)
    X, new = X.astype(np.float64), wave(20, 1)[0].astype(np.float64)
    kernel = gl.DeepKernelNetwork(weights="uniform", learning=None, random_state=0).fit(X).kernel_
    exact = gl.DeepKernelRegressor(kernel).fit(X, y)
    mapped = gl.DeepMapRegressor(kernel, 60, tuning=None).fit(X, y)
    assert mapped.alpha_ == pytest.approx(exact.alpha_, rel=1e-6)
    for found, expected in zip(mapped.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_strength_is_the_one_with_the_least_error_of_refits():
    X, y = wave(30)
    kernel = gl.DeepKernelNetwork(weights="uniform", learning=None, random_state=0).fit(X.astype(np.float64)).kernel_
    model = gl.DeepKernelRegressor(kernel).fit(X.astype(np.float64), y)
    gram = np.asarray(kernel(X.astype(np.float64)), dtype=np.float64)
    standard = ((y - y.mean()) / y.std())[:, None]
    alphas = model.alpha_curve_[:, 0]
    errors = [np.square(oracle.left_out(gram, standard, alpha, np.ones(30))[0]).mean() for alpha in alphas[9:]]
    np.testing.assert_allclose(model.alpha_curve_[9:, 1], errors, rtol=1e-6)
    assert model.alpha_[0] == alphas[9:][np.argmin(errors)]


@pytest.mark.parametrize("make", BOTH)
def test_learns_predicts_and_covers(make):
    X, y = wave(300)
    new, truth = wave(400, 1)
    model = make().fit(X, y)
    assert model.score(new, truth) > 0.9
    means, deviations = model.predict(new, return_std=True)
    assert means.shape == deviations.shape == (400,)
    inside = np.mean(np.abs(truth - means) < 1.645 * deviations)
    assert 0.83 < inside < 0.97  # five standard errors of 400 draws around 90 %, and of the 300 that it is learned from


@pytest.mark.parametrize("make", BOTH)
def test_several_targets_are_each_their_own_problem(make):
    X, y = wave(80)
    kernel = gl.DeepKernelNetwork(learning=None, random_state=0).fit(X).kernel_
    other = np.random.default_rng(0).normal(size=80)
    both = make().set_params(kernel=kernel).fit(X, np.column_stack([y, 1e6 * other]))
    means, deviations = both.predict(X, return_std=True)
    assert means.shape == deviations.shape == (80, 2)
    for target, scale in ((y, 1.0), (other, 1e6)):
        column = int(scale > 1)
        alone = make().set_params(kernel=kernel).fit(X, target).predict(X, return_std=True)
        if isinstance(both, gl.DeepKernelRegressor):  # samples stand in another order, and landmarks are others
            np.testing.assert_allclose(means[:, column], scale * alone[0], rtol=1e-3, atol=1e-3 * scale)
            np.testing.assert_allclose(deviations[:, column], scale * alone[1], rtol=1e-2)


@pytest.mark.parametrize("make", BOTH)
def test_shapes_of_targets_are_kept(make):
    X, y = wave(20)
    assert make().fit(X, y).predict(X).shape == (20,)
    assert make().fit(X, y[:, None]).predict(X).shape == (20, 1)
    assert make().fit(torch.from_numpy(X), torch.from_numpy(y)).predict(torch.from_numpy(X)).shape == (20,)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e308])
@pytest.mark.parametrize("make", BOTH)
def test_huge_and_tiny_targets(make, scale):
    X, y = wave(40)
    y = y / np.abs(y).max()
    expected, deviations = make().fit(X, y).predict(X, return_std=True)
    found, widths = make().fit(X, scale * y).predict(X, return_std=True)
    # Targets are rounded, so hashes and the order of samples are others: two float32 fits.
    np.testing.assert_allclose(found / scale, expected, atol=0.2 * deviations.max())
    np.testing.assert_allclose(widths / scale, deviations, rtol=0.5)


@pytest.mark.parametrize("make", BOTH)
def test_constant_targets_beside_others(make):
    X, y = wave(40)
    means, deviations = make().fit(X, np.column_stack([y, np.full(40, 0.1)])).predict(X, return_std=True)
    np.testing.assert_array_equal(means[:, 1], 0.1)
    np.testing.assert_array_equal(deviations[:, 1], 0.0)
    assert (deviations[:, 0] > 0).all()
    np.testing.assert_array_equal(make().fit(X, np.full(40, 7.0)).predict(X), 7.0)


@pytest.mark.parametrize("make", BOTH)
def test_two_samples_and_samples_all_alike(make):
    X, _ = wave(2)
    means, deviations = make().fit(X, [1.0, 3.0]).predict(X, return_std=True)
    assert np.isfinite(means).all()
    assert (deviations > 0).all()
    alike = np.ones((10, 3), dtype=np.float32)
    model = make().fit(alike, np.arange(10.0))
    np.testing.assert_allclose(model.predict(alike), 4.5, atol=0.1)


@pytest.mark.parametrize("make", BOTH)
def test_weights_are_copies_and_zero_is_none(make):
    X, y = wave(50)
    weights = np.random.default_rng(0).integers(0, 4, 50)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(50), weights))
    weighted, copied = make().fit(X, y, sample_weight=weights), make().fit(X[rows], y[rows])
    for found, expected in zip(weighted.predict(X, return_std=True), copied.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(weighted.predict(X), make().fit(X, y).predict(X))


def test_landmarks_by_their_rows_are_those_of_the_data_that_was_given():
    X, y = wave(30)
    model = gl.DeepMapRegressor(SOON, landmarks=[3, 5, 8], tuning=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.asarray(model.map_network_.landmarks_), X[[3, 5, 8]])
    with pytest.raises(ValueError, match="landmark rows"):
        gl.DeepMapRegressor(SOON, landmarks=[30], random_state=0).fit(X, y)


def columns_compared(model):
    return {name for name in (entry.kernel.name for entry in model.kernel_.inputs) if "column" in name}


@pytest.mark.parametrize("as_given", [np.asarray, pd.DataFrame, sparse.csr_array, torch.from_numpy])
def test_each_column_of_a_small_table_has_a_width_of_its_own(as_given):
    X, y = wave(60)
    model = gl.DeepKernelRegressor(SOON, random_state=0).fit(as_given(X), y)
    assert columns_compared(model) == {f"distance of column {i}" for i in range(4)}


def test_two_columns_that_tell_only_together_are_found_among_twelve():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 12))
    y = X[:, 3] * X[:, 8] > 0
    model = gl.DeepKernelClassifier(random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9  # an SVM with a Gaussian kernel has 0.7


def test_other_data_is_not_looked_at_by_columns():
    X, y = wave(60)
    for kernel, data in (
        (gl.DeepKernelNetwork(("gaussian",), learning=None), X),
        (gl.DeepKernelNetwork(learning=None), X),
        (SOON, {"a": X[:, :2], "b": X[:, 2:]}),
        (SOON, np.random.default_rng(0).random((60, 65))),
    ):
        assert not columns_compared(gl.DeepKernelRegressor(kernel, random_state=0).fit(data, y))


def test_numbers_that_look_like_classes_are_numbers():
    X, _ = wave(60)
    y = np.round(3 * X[:, 0]).astype(int)
    model = gl.DeepKernelRegressor(SOON, random_state=0).fit(X, y)
    assert len(np.unique(model.predict(X))) > 10
    assert model.targets_.n_targets == 1


@pytest.mark.parametrize("make", BOTH)
def test_what_cannot_be_is_refused_in_words(make):
    X, y = wave(20)
    for bad, words in (
        (np.where(np.arange(20) == 3, np.nan, y), "NaN"),
        (np.where(np.arange(20) == 3, np.inf, y), "infinity"),
        (y + 1j, "real numbers"),
        (np.array(["a"] * 20), "could not convert|dtype='numeric'"),
        (y.reshape(5, 2, 2), "inconsistent|shape|dim"),
        (y[:10], "inconsistent"),
        (sparse.csr_array(y[:, None]), "sparse"),
        (None, "requires y"),
        (np.ma.masked_less(y, 0.5), "mask"),
    ):
        with pytest.raises(ValueError, match=words):
            make().fit(X, bad)
    with pytest.raises(ValueError, match=r"non-zero|weight 0"):
        make().fit(X, y, sample_weight=np.zeros(20))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        make().fit(X, y, sample_weight=np.full(20, -1.0))
    with pytest.raises(ValueError, match="alpha"):
        make(alpha=0.0).fit(X, y)
    with pytest.raises(ValueError, match="takes labels"):
        make().set_params(kernel=gl.DeepKernelNetwork(learning="supervised")).fit(X, y)


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_computed():
    X, y = wave(400)
    with gl.config_context(memory_budget="1MiB"), pytest.raises(gl.MemoryBudgetError, match="DeepMapRegressor"):
        gl.DeepKernelRegressor(SOON).fit(X, y)


def test_a_budget_without_room_to_move_landmarks_leaves_them_and_says_so():
    X, y = wave(160)
    model = gl.DeepMapRegressor(SOON, 100, random_state=0)
    words = r"'auto' moves the landmarks no further: .* raise memory_budget"
    with gl.config_context(memory_budget="400 KiB"), pytest.warns(UserWarning, match=words):
        model.fit(X, y)
    assert model.map_network_.tuning is None


def test_grid_search_over_the_strength():
    X, y = wave(60)
    kernel = gl.DeepKernelNetwork(learning=None, random_state=0).fit(X).kernel_
    search = GridSearchCV(gl.DeepKernelRegressor(kernel), {"alpha": [1e-3, 1e3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 1e-3}


def test_target_scales_that_cannot_be():
    with pytest.raises(gl.DataError, match="target"):
        TargetScale(np.zeros(2), np.ones(2), single=True)
    with pytest.raises(gl.DataError, match="spreads"):
        TargetScale(np.zeros(2), np.ones(1), single=False)
