"""Data is looked through once per call, however many estimators it goes through."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import gramless as gl
from gramless.views import views as views_module

NETWORK = gl.DeepKernelNetwork(("gaussian", "linear"), learning=gl.LeaveOneOut(max_evaluations=2))
ESTIMATORS = {
    "kernel network": NETWORK,
    "kernel classifier": gl.DeepKernelClassifier(NETWORK, random_state=0),
    "map network": gl.DeepMapNetwork(NETWORK, 10, tuning="landmarks", random_state=0),
    "map classifier": gl.DeepMapClassifier(NETWORK, 10, random_state=0),
}


@pytest.fixture
def looked(monkeypatch):
    """How often each view was looked through for numbers that are none."""
    counted, check = Counter(), views_module.missing_rows
    monkeypatch.setattr(views_module, "missing_rows", lambda name, *rest: counted.update([name]) or check(name, *rest))
    return counted


@pytest.fixture
def data(rng):
    y = np.arange(120) % 2
    return {"a": rng.random((120, 4)) + y[:, None], "b": rng.random((120, 3))}, y


@pytest.mark.parametrize("which", ESTIMATORS)
def test_a_fit_looks_once(which, data, looked):
    X, y = data
    estimator = ESTIMATORS[which]
    estimator.fit(X, y)
    assert looked == {"a": 1, "b": 1}
    for method in ("predict", "transform", "decision_function"):
        if hasattr(estimator, method):
            looked.clear()
            getattr(estimator, method)(X)
            assert looked == {"a": 1, "b": 1}


def test_a_block_is_looked_at_once(data, looked):
    X, y = data
    model = gl.DeepMapClassifier(NETWORK, 10, tuning=None, random_state=0)
    for _ in range(2):
        looked.clear()
        model.partial_fit(X, y)
        assert looked == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    "made",
    [np.asarray, pd.DataFrame, sparse.csr_matrix, lambda X: gl.Views(X)],
    ids=["array", "frame", "sparse", "Views"],
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ESTIMATORS)
def test_and_still_finds_what_is_no_number(which, bad, made, data):
    X, y = data
    joined = X["a"].copy()
    fitted = ESTIMATORS[which].fit(made(joined), y)
    changed = joined.copy()
    changed[7, 2] = bad
    with pytest.raises(gl.DataError, match=r"NaN or infinity, first at row 7, column 2"):
        ESTIMATORS[which].fit(made(changed), y)
    if hasattr(fitted, "transform"):
        with pytest.raises(gl.DataError, match=r"NaN or infinity, first at row 7, column 2"):
            fitted.transform(made(changed))


def test_views_whose_memory_has_changed_since_are_found_out(data):
    X, y = data
    views = gl.Views(X)
    X["b"][3, 1] = np.nan
    for estimator in ESTIMATORS.values():
        with pytest.raises(gl.DataError, match="view 'b' contains NaN"):
            estimator.fit(views, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("whole_row", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_and_so_are_views_that_a_fitted_model_uses(data, bad, whole_row, dtype):
    X, y = data
    X = {name: block.astype(dtype) for name, block in X.items()}
    views, models = gl.Views(X), [estimator.fit(X, y) for estimator in ESTIMATORS.values()]
    X["b"][3, slice(None) if whole_row else 1] = bad
    for model in models:
        for method in ("predict", "transform", "decision_function"):
            if hasattr(model, method):
                with pytest.raises(gl.DataError, match="view 'b' contains NaN"):
                    getattr(model, method)(views)
