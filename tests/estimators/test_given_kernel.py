"""A kernel network that is handed over: fitted here or used as it is, the same for every estimator that takes one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

import gramless as gl

NETWORK = gl.DeepKernelNetwork(("gaussian", "linear"), (3,), learning=None, random_state=5)
OPTIONS = {
    gl.DeepKernelClassifier: {},
    gl.DeepMapClassifier: {"n_landmarks": 20, "tuning": None},
    gl.DeepMapNetwork: {"n_landmarks": 20},
}
pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")


@pytest.fixture
def data(rng):
    y = np.arange(60) % 3
    return {"a": rng.random((60, 4)) + np.eye(3)[y] @ rng.random((3, 4)), "b": rng.random((60, 2))}, y


@pytest.fixture(params=OPTIONS, ids=lambda kind: kind.__name__)
def make(request):
    return lambda kernel, **options: request.param(kernel, **(OPTIONS[request.param] | {"random_state": 0} | options))


def answers(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.decision_function(X)


def test_a_network_its_kernel_and_the_frozen_network_are_the_same(make, data):
    X, y = data
    fitted = clone(NETWORK).fit(X)
    expected = answers(make(NETWORK).fit(X, y), X)
    for kernel in (fitted, fitted.kernel_, FrozenEstimator(fitted)):
        np.testing.assert_array_equal(answers(make(kernel).fit(X, y), X), expected)
    assert not hasattr(NETWORK, "kernel_")


def test_a_fitted_network_is_fitted_anew_unless_it_is_frozen(make, data):
    X, y = data
    other = {name: view[::-1] ** 2 for name, view in X.items()}
    fitted = clone(NETWORK).fit(other)
    anew, frozen = (make(kernel).fit(X, y) for kernel in (fitted, FrozenEstimator(fitted)))
    np.testing.assert_array_equal(answers(anew, X), answers(make(NETWORK).fit(X, y), X))
    assert np.abs(answers(anew, X) - answers(frozen, X)).max() > 1e-3


def test_nothing_is_a_network_as_it_comes_and_an_unseeded_one_is_seeded(make, data):
    X, y = data
    expected = answers(make(gl.DeepKernelNetwork()).fit(X, y), X)
    np.testing.assert_array_equal(answers(make(None).fit(X, y), X), expected)
    unseeded = clone(NETWORK).set_params(random_state=None)
    first, again, other = (answers(make(unseeded, random_state=seed).fit(X, y), X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first @ first.T - other @ other.T).max() > 1e-4
    assert unseeded.random_state is None


def test_a_grid_names_the_parameters_of_the_network(data):
    X, y = data
    classifier = gl.DeepKernelClassifier(gl.DeepKernelNetwork(learning=None, activation="exp"), random_state=0)
    search = GridSearchCV(classifier, {"kernel__hidden": [(), (2,)], "C": [1.0, 10.0]}, cv=2).fit(gl.Views(X), y)
    assert len(search.cv_results_["params"]) == 4


def test_views_belong_to_the_estimator_that_takes_the_data(make, data):
    X, y = data
    joined, columns = np.hstack([X["a"], X["b"]]), {"a": slice(0, 4), "b": slice(4, 6)}
    cutting = clone(NETWORK).set_params(views=columns)
    with pytest.raises(gl.DataError, match=r"the views \['a', 'b'\], but it gets \['view0'\]: give views="):
        make(cutting).fit(joined, y)
    expected = answers(make(NETWORK).fit(X, y), X)
    for kernel in (cutting, NETWORK):
        np.testing.assert_array_equal(answers(make(kernel, views=columns).fit(joined, y), joined), expected)


def test_data_may_have_more_views_than_the_kernel(make, data, tmp_path):
    X, y = data
    kernel = clone(NETWORK).fit({"b": X["b"]}).kernel_
    model = make(kernel).fit(X, y)
    expected = answers(make(kernel).fit({"b": X["b"]}, y), {"b": X["b"]})
    np.testing.assert_array_equal(answers(model, X), expected)
    gl.save(model, tmp_path / "m")
    np.testing.assert_array_equal(answers(gl.load(tmp_path / "m"), X), expected)
    with pytest.raises(gl.DataError, match="missing"):
        make(kernel).fit({"a": X["a"]}, y)


@pytest.mark.parametrize("kind", [gl.DeepKernelClassifier, gl.DeepMapClassifier])
def test_marks_of_samples_without_a_label_follow_from_the_network(kind, data):
    X, y = data
    semi = gl.DeepKernelNetwork(("gaussian",), learning=gl.SemiSupervised(n_steps=1), random_state=0)
    marked = np.where(np.arange(60) % 5 < 3, y, -1)
    fitted = clone(semi).fit(X, marked)
    for kernel, n_classes in ((semi, 3), (FrozenEstimator(fitted), 3), (fitted.kernel_, 4), (NETWORK, 4)):
        assert len(kind(kernel, random_state=0, **OPTIONS[kind]).fit(X, marked).classes_) == n_classes
