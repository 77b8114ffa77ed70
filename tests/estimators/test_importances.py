"""What matters to fitted models: one view is informative, one a little, one is noise; shares and shuffling agree."""

import copy
import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import gramless as gl
from gramless.heads.decision_shares import N_DRAWN
from gramless.maps import layered_map

SOON = gl.DeepKernelNetwork(learning=gl.LeaveOneOut(max_evaluations=20))
EQUAL = gl.DeepKernelNetwork(weights="uniform", learning=None)
CLASSIFIERS = {
    "map classifier": gl.DeepMapClassifier(SOON, 60, tuning=None, random_state=0),
    "kernel classifier": gl.DeepKernelClassifier(SOON, random_state=0),
}
REGRESSORS = {
    "map regressor": gl.DeepMapRegressor(SOON, 60, tuning=None, random_state=0),
    "kernel regressor": gl.DeepKernelRegressor(SOON, random_state=0),
}


def made_up(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    good, weak = np.random.default_rng(0).normal(size=(2, 3, 4))
    views = {
        "noise": rng.normal(size=(n, 6)),
        "good": 1.5 * good[y] + rng.normal(size=(n, 4)),
        "weak": 0.5 * weak[y] + rng.normal(size=(n, 4)),
    }
    return gl.Views({name: block.astype(np.float32) for name, block in views.items()}), y


@pytest.fixture(scope="module")
def train():
    return made_up(150, 1)


@pytest.fixture(scope="module")
def test():
    return made_up(200, 2)


def asked(which, data):
    """Classes, or a number that depends on a view, on another a little, and on the third not at all."""
    X, y = data
    return X, y if which in CLASSIFIERS else np.sin(X["good"][:, 0]) + X["good"][:, 1] + 0.4 * X["weak"][:, 0]


@pytest.fixture(scope="module")
def models(train):
    return {name: clone(model).fit(*asked(name, train)) for name, model in (CLASSIFIERS | REGRESSORS).items()}


@pytest.mark.parametrize("which", [*CLASSIFIERS, *REGRESSORS])
def test_noise_has_next_to_no_share_and_shuffling_agrees(models, test, which):
    found = models[which].importances_
    assert found.labels.tolist() == ([0, 1, 2] if which in CLASSIFIERS else [0])
    assert found.views == ("noise", "good", "weak")
    np.testing.assert_allclose(found.shares.sum(1), 1.0)
    np.testing.assert_allclose(found.of_views.sum(1), 1.0)
    np.testing.assert_allclose(found.of_kernels.sum(1), 1.0)
    noise, good, weak = found.of_views.mean(0)
    assert noise < 0.1
    assert good > 0.6
    assert noise < weak < good
    test = asked(which, test)
    shuffled = gl.permutation_importances(models[which], *test, n_repeats=3, random_state=0)
    assert shuffled.drops.shape == (3, 3)
    assert shuffled.score == models[which].score(*test)
    noise, good, weak = shuffled.mean
    assert good > 0.3
    assert good > weak > noise
    assert abs(noise) < 0.05
    assert repr(found).startswith("Importances(good ")
    assert repr(shuffled).startswith("PermutationImportances(score 0.")


@pytest.mark.parametrize("which", [*CLASSIFIERS, *REGRESSORS])
def test_shares_are_how_decisions_vary_where_one_view_is_another_samples(models, which):
    model, rng = models[which], np.random.default_rng(0)
    known = model.map_network_.landmarks_ if which.startswith("map") else model.support_
    answer = model.decision_function if which in CLASSIFIERS else model.predict
    rows = {name: rng.integers(0, len(known), (2, 4000)) for name in known.names}
    before = answer(gl.Views({name: known[name][rows[name][0]] for name in known.names}))
    effects = []
    for changed in known.names:
        mixed = gl.Views({name: known[name][rows[name][int(name == changed)]] for name in known.names})
        effects.append(np.square(answer(mixed) - before).reshape(4000, -1).mean(0))
    expected = np.array(effects).T / np.sum(effects, axis=0)[:, None]
    # A share p is off by p (1 - p) sqrt(2 (c - 1) / N), c = 5 the kurtosis of products of normal numbers or so.
    tolerance = 4 * expected * (1 - expected) * np.sqrt(2 * 4 / N_DRAWN)
    assert (np.abs(model.importances_.of_views - expected) < tolerance).all()


def test_a_saved_model_says_the_same(models, tmp_path):
    for which, model in models.items():
        found = model.importances_.shares
        gl.save(model, tmp_path / "model")
        loaded = gl.load(tmp_path / "model")
        assert "importances_" not in vars(loaded)
        np.testing.assert_allclose(loaded.importances_.shares, found, rtol=1e-6, err_msg=which)


def test_computed_once_and_anew_after_another_fit(train):
    X, y = train
    model = clone(CLASSIFIERS["map classifier"]).set_params(kernel=EQUAL).fit(X, y)
    first = model.importances_
    assert model.importances_ is first
    assert copy.copy(model).importances_ is first
    model.partial_fit(X, y)
    learned_on = model.importances_
    assert learned_on is not first
    model.fit(gl.Views({"noise": X["good"], "good": X["weak"], "weak": X["weak"]}), y)
    assert model.importances_.of_views.mean(0)[0] > 0.5
    again = model.importances_
    compiled = model.map_network_.map_
    moved = replace(compiled, landmarks=compiled.landmarks[::-1])
    model.map_network_.replace_map(moved)
    assert model.importances_ is not again
    kept = weakref.ref(model.importances_)
    del model
    gc.collect()
    assert kept() is None


def test_two_classes_have_one_decision_and_views_that_no_kernel_looks_at_are_there(train):
    X, y = train
    names = np.array(["a", "b"])[(y > 0).astype(int)]
    kernel = gl.DeepKernelNetwork(learning=None).fit(gl.Views({"good": X["good"]})).kernel_
    model = gl.DeepKernelClassifier(kernel).fit(X, names)
    found = model.importances_
    assert found.labels.tolist() == ["b"]
    np.testing.assert_allclose(found.of_views, [[0.0, 1.0, 0.0]])


def test_several_labels_several_targets_and_one_array(train):
    X, y = train
    indicator = np.column_stack([y == 0, y == 1, np.zeros(len(y))]).astype(int)  # one label that nobody has
    model = gl.DeepKernelClassifier(EQUAL, random_state=0).fit(X, indicator)
    found = model.importances_
    assert found.labels.tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.shares[:2].sum(1), 1.0)
    shuffled = gl.permutation_importances(model, X, indicator, n_repeats=2, random_state=0)
    assert shuffled.mean.argmax() == 1
    targets = np.column_stack([y, X["weak"][:, 0]])
    both = gl.DeepKernelRegressor(SOON, random_state=0).fit(X["weak"], targets)
    assert both.importances_.of_views.shape == (2, 1)
    columns = both.importances_.of_kernels[1]
    assert both.importances_.kernels[columns.argmax()] == "distance of column 0"  # the column that it is
    assert repr(both.importances_).startswith("Importances(distance")


def test_shuffling_takes_other_scores_and_is_the_same_again(models, test):
    X, y = test
    model = models["kernel classifier"]
    first, again = (
        gl.permutation_importances(model, dict(X._blocks), y, scoring="neg_log_loss", n_repeats=2, random_state=3)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.drops, again.drops)
    assert first.score < 0
    assert first.std.shape == (3,)


def test_a_map_of_layers_has_no_shares_but_shuffling_works(train):
    X, y = train
    network = gl.DeepKernelNetwork(("gaussian",), (2,), activation="exp", weights="uniform", learning=None)
    model = gl.DeepMapClassifier(network, 8, tuning=None, random_state=0).fit(X, y)
    compiled = model.map_network_.map_
    model.map_network_.replace_map(layered_map(compiled.kernel, compiled.landmarks, X, generator=torch.Generator()))
    assert not hasattr(model, "importances_")
    with pytest.raises(AttributeError, match="permutation_importances"):
        _ = model.importances_
    assert "gramless-fitted" in model._repr_html_()
    assert np.isfinite(gl.permutation_importances(model, X, y, n_repeats=2, random_state=0).drops).all()


@pytest.mark.parametrize("model", (CLASSIFIERS | REGRESSORS).values(), ids=CLASSIFIERS | REGRESSORS)
def test_nothing_matters_to_a_model_that_is_not_fitted(model, test):
    model = clone(model)
    assert not hasattr(model, "importances_")
    with pytest.raises(NotFittedError):
        _ = model.importances_
    with pytest.raises(NotFittedError):
        gl.permutation_importances(model, *test)


def test_what_cannot_be_shuffled_is_refused(models, test):
    X, y = test
    model = models["kernel classifier"]
    with pytest.raises(TypeError, match="got a SVC"):
        gl.permutation_importances(SVC(), X, y)
    with pytest.raises(TypeError, match="Of a Pipeline give the last step"):
        gl.permutation_importances(make_pipeline(StandardScaler(), model), X, y)
    for wrong in (0, -1, 1.5, None, "3"):
        with pytest.raises(ValueError, match="n_repeats="):
            gl.permutation_importances(model, X, y, n_repeats=wrong)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        gl.permutation_importances(model, X, y[:-1])
    with pytest.raises(gl.DataError, match="among 1 samples"):
        gl.permutation_importances(model, X[:1], y[:1])
    with pytest.raises(ValueError, match="data in blocks is not shuffled"):
        gl.permutation_importances(model, gl.in_blocks(X, y), y)
    with pytest.raises(gl.DataError, match="missing"):
        gl.permutation_importances(model, {"good": X["good"]}, y)
    with pytest.raises(ValueError, match="nonsense"):
        gl.permutation_importances(model, X, y, scoring="nonsense")
    broken = gl.Views({name: X[name].copy() for name in X.names})
    broken["good"][3, 1] = np.nan
    with pytest.raises(gl.DataError, match="NaN"):
        gl.permutation_importances(model, broken, y)
