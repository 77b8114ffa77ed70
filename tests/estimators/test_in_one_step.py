"""Whatever stops a fit, the estimator is what it was before."""

from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import gramless as gl
from gramless.estimators import (
    classifier,
    deep_kernel_network,
    deep_map_network,
    in_turn,
    vector_heads,
)

NETWORK = gl.DeepKernelNetwork(hidden=(4,), learning=None)


def samples(seed, n=300, width=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.random((2, width))[y] + rng.random((n, width)), y


def stop(call, place, name, monkeypatch):
    """Ctrl-C where that function is called."""
    with monkeypatch.context() as patched:
        patched.setattr(place, name, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            call()


STEPS = {
    "labelling": (gl.DeepMapClassifier, classifier, "learn_labelling"),
    "classifiers": (gl.DeepMapClassifier, vector_heads.VectorFit, "head"),
    "map": (gl.DeepMapNetwork, deep_map_network, "collapse"),
    "scale": (gl.DeepKernelNetwork, deep_kernel_network, "spread"),
}


def attributes(model):
    return {name: id(value) for name, value in vars(model).items()}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("blocks", [False, True], ids=["in memory", "in blocks"])
def test_a_fit_that_is_stopped_leaves_the_estimator_as_it_was(step, blocks, monkeypatch):
    kind, place, name = STEPS[step]
    model = clone(NETWORK) if kind is gl.DeepKernelNetwork else kind(NETWORK, 20, random_state=0)
    X, y = samples(0)
    other, z = samples(1, width=4)
    for fitted in (False, True):
        if fitted:
            model.fit(X, y)
        before = attributes(model)
        stop(lambda: model.fit(gl.in_blocks(other, z) if blocks else other, z), place, name, monkeypatch)
        assert attributes(model) == before


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_classifier_answers_as_before_it_was_stopped(method, monkeypatch):
    X, y = samples(0)
    model = gl.DeepMapClassifier(NETWORK, 20, random_state=0)
    learn = getattr(model, method)
    stop(lambda: learn(X, y), gl.DeepMapClassifier, "_features", monkeypatch)
    with pytest.raises(NotFittedError):
        model.predict(X)
    expected = model.fit(X, y).decision_function(X)
    steps = {
        "fit": ((gl.DeepMapClassifier, "_features"), (vector_heads.VectorFit, "head")),
        "partial_fit": ((in_turn, "views_to_use"), (in_turn.OnlineHead, "update")),
    }
    for place, name in steps[method]:
        stop(lambda: learn(*samples(1)), place, name, monkeypatch)
        np.testing.assert_array_equal(model.decision_function(X), expected)


def test_names_of_columns_that_are_gone_are_forgotten():
    X, y = samples(0)
    model = gl.DeepMapClassifier(NETWORK, 20, random_state=0).fit(pd.DataFrame(X, columns=list("abcde")), y)
    assert model.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize(
    "kind", [gl.DeepKernelNetwork, gl.DeepKernelClassifier, gl.DeepMapNetwork, gl.DeepMapClassifier]
)
def test_nothing_of_the_fit_before_survives_another(kind):
    X, y = samples(0)
    Y = np.column_stack([y, 1 - y, np.arange(len(y)) % 2])
    model = clone(NETWORK) if kind is gl.DeepKernelNetwork else kind(NETWORK)
    choices = {"n_landmarks": 20, "random_state": 0}
    model.set_params(**{name: value for name, value in choices.items() if name in model.get_params()})
    named = pd.DataFrame(X, columns=list("abcde"))
    if kind is gl.DeepMapClassifier:
        model.set_params(top_k=2).fit(named, Y)
        assert model.operating_points_
        model.set_params(top_k=None)
    else:
        model.fit(named, Y)
    model.set_params(views={"a": slice(0, 2), "b": slice(2, 5)}).fit({"one": X}, y)
    assert set(vars(model)) == set(vars(clone(model).fit({"one": X}, y)))


def test_what_scikit_learn_keeps_on_an_estimator_survives():
    X, _ = samples(0)
    model = gl.DeepMapNetwork(NETWORK, 20, random_state=0).set_output(transform="pandas")
    assert isinstance(model.fit(X).fit(X).transform(X), pd.DataFrame)
