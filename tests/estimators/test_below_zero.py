"""New samples below zero, where the kernels were chosen by samples that were not."""

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import gramless as gl

ESTIMATORS = [
    gl.DeepKernelClassifier(random_state=0),
    gl.DeepMapClassifier(n_landmarks=20, random_state=0),
    gl.DeepKernelRegressor(random_state=0),
    gl.DeepMapRegressor(n_landmarks=20, random_state=0),
]
SAID = "goes down to -0.25, but the samples that its kernels were chosen by had no number below 0"


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = rng.random((60, 4)) + np.eye(3, 4)[y]
    below = X[:9].copy()
    below[2, 1], below[5, 0] = -0.25, -0.125
    return X, y, below


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_they_count_as_zero_and_it_is_said(estimator, samples):
    X, y, below = samples
    model = clone(estimator).fit({"all": X}, y)
    with pytest.warns(UserWarning, match=SAID):
        found = model.predict({"all": below})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(found, model.predict({"all": np.maximum(below, 0)}))
    assert below.min() == -0.25, "the caller's array was changed"


@pytest.fixture(scope="module")
def fitted(samples):
    return gl.DeepMapClassifier(n_landmarks=20, random_state=0).fit(*samples[:2])


@pytest.mark.parametrize("form", [sparse.csr_array, torch.from_numpy, gl.Views], ids=["sparse", "tensor", "views"])
def test_in_every_form(form, fitted, samples):
    below = samples[2]
    with pytest.warns(UserWarning, match=SAID):
        found = fitted.decision_function(form({"view0": below} if form is gl.Views else below))
    np.testing.assert_allclose(found, fitted.decision_function(np.maximum(below, 0)), atol=1e-5)


def test_after_a_file_and_in_blocks_as_well(fitted, samples, tmp_path):
    below = samples[2]
    expected = fitted.predict(np.maximum(below, 0))
    gl.save(fitted, tmp_path / "model.gramless")
    with pytest.warns(UserWarning, match=SAID):
        np.testing.assert_array_equal(gl.load(tmp_path / "model.gramless").predict(below), expected)
    with pytest.warns(UserWarning, match="goes down to"):
        found = np.asarray(fitted.predict(gl.in_blocks(below, rows=4)))
    np.testing.assert_array_equal(found, expected)


def test_a_frozen_network_chose_by_its_own_samples(samples):
    X, y, below = samples
    network = gl.DeepKernelNetwork(random_state=0).fit(X, y)
    model = gl.DeepKernelClassifier(FrozenEstimator(network), random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=SAID):
        model.predict(below)


def test_kernels_that_were_named_refuse_them(samples):
    X, y, below = samples
    network = gl.DeepKernelNetwork(["hellinger-distance"], random_state=0)
    model = gl.DeepMapClassifier(network, n_landmarks=20, random_state=0).fit(X, y)
    with pytest.raises(gl.DataError, match="Negative values in data: the hellinger-distance kernel"):
        model.predict(below)


def test_numbers_that_are_none_are_still_refused(fitted, samples):
    below = samples[2].copy()
    below[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(below)


def test_behind_a_scaler_that_has_not_seen_the_least(samples):
    X, y, below = samples
    model = make_pipeline(MinMaxScaler(), gl.DeepMapClassifier(n_landmarks=20, random_state=0)).fit(X, y)
    with pytest.warns(UserWarning, match="counts as 0"):
        assert set(model.predict(below)) <= {0, 1, 2}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32], ids=str)
def test_unsigned_tensors_have_nothing_below_zero(dtype, samples):
    """PyTorch has no minimum of some of these types."""
    X, y, _ = samples
    counts = (10 * X).astype(int)
    model = gl.DeepMapClassifier(n_landmarks=20, random_state=0).fit(torch.from_numpy(counts).to(dtype), y)
    found = model.predict(torch.from_numpy(counts).to(dtype))
    np.testing.assert_array_equal(found, model.predict(counts))
