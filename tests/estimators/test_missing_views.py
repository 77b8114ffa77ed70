"""Samples that lack a view, at fit and at predict, in memory and in blocks, saved and in ONNX files."""

import numpy as np
import pytest
from sklearn.base import clone

import gramless as gl
from gramless.maps import collapse
from gramless.views.completion import completed
from tests.views.test_completion import described, without

N, N_NEW = 90, 40
SMALL = gl.DeepKernelNetwork(learning=None, random_state=0)
CLASSIFIERS = {
    "map classifier": gl.DeepMapClassifier(SMALL, 30, tuning=None, C=1.0, head="ridge", random_state=0),
    "kernel classifier": gl.DeepKernelClassifier(SMALL, C=1.0, head="ridge", random_state=0),
}
REGRESSORS = {
    "map regressor": gl.DeepMapRegressor(SMALL, 30, tuning=None, alpha=1e-2, random_state=0),
    "kernel regressor": gl.DeepKernelRegressor(SMALL, alpha=1e-2, random_state=0),
}
MAP = gl.DeepMapNetwork(SMALL, 30, random_state=0)


def samples(n, seed):
    views = described(n, seed, dtype=np.float32)
    return views, np.asarray(views["c"][:, 0]).astype(np.float64) * 1e3


KNOWN, NUMBERS = samples(N, seed=0)
NEW, NEW_NUMBERS = samples(N_NEW, seed=1)
ASKED = without(NEW)


def targets(which):
    return (NUMBERS > 0).astype(int) if which in CLASSIFIERS else NUMBERS


def answers(estimator, views):
    if hasattr(estimator, "transform"):
        return estimator.transform(views)
    return estimator.decision_function(views) if hasattr(estimator, "decision_function") else estimator.predict(views)


def estimators(*more):
    return pytest.mark.parametrize("which", [*CLASSIFIERS, *REGRESSORS, *more])


@pytest.fixture(scope="module")
def fitted():
    """Every estimator, fitted on samples that have all views (True) and on samples that lack some (False)."""
    every = CLASSIFIERS | REGRESSORS | {"map": MAP}
    lacking = without(KNOWN, seed=4)
    return {
        (which, whole): clone(estimator).fit(gl.Views(KNOWN if whole else lacking), targets(which))
        for which, estimator in every.items()
        for whole in (True, False)
    }


@pytest.mark.parametrize("whole", [True, False])
@estimators("map")
def test_answers_are_those_of_the_completed_samples(fitted, which, whole):
    estimator = fitted[which, whole]
    found = answers(estimator, gl.Views(ASKED))
    expected = answers(estimator, completed(gl.Views(ASKED), estimator.known_samples()))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("whole", [True, False])
@estimators()
def test_a_missing_view_degrades_the_answer_and_does_not_stop_it(fitted, which, whole):
    y = (NEW_NUMBERS > 0).astype(int) if which in CLASSIFIERS else NEW_NUMBERS
    complete, missing = fitted[which, True].score(NEW, y), fitted[which, whole].score(gl.Views(ASKED), y)
    means = {name: np.where(np.isnan(x), KNOWN[name].mean(0), x) for name, x in ASKED.items()}
    assert complete > 0.9
    assert missing >= 0.8 * complete
    assert missing >= fitted[which, whole].score(means, y)


def test_samples_are_completed_from_samples_and_not_from_moved_landmarks(tmp_path):
    network = clone(MAP).fit(KNOWN)
    moved = gl.Views({name: network.landmarks_[name] + 0.5 * x.std(0) for name, x in KNOWN.items()})
    network.replace_map(collapse(network.kernel_, moved, None, moved.dtype))
    gl.save(network, tmp_path / "model.gramless")
    for found in (network, gl.load(tmp_path / "model.gramless")):
        for name in KNOWN:
            np.testing.assert_array_equal(found.landmarks_[name], moved[name])
            np.testing.assert_array_equal(found.known_samples()[name], KNOWN[name][found.landmark_indices_])


@estimators("map")
def test_blocks_are_as_the_whole(fitted, which):
    estimator = fitted[which, False]
    blocks = gl.in_blocks(ASKED, rows=11)
    method = next(m for m in ("transform", "decision_function", "predict") if hasattr(estimator, m))
    found = np.asarray(getattr(estimator, method)(blocks))
    expected = answers(estimator, gl.Views(ASKED))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_deviations_in_blocks(fitted):
    estimator = fitted["map regressor", False]
    _, deviations = estimator.predict(gl.in_blocks(ASKED), return_std=True)
    _, expected = estimator.predict(ASKED, return_std=True)
    np.testing.assert_allclose(np.asarray(deviations), expected, rtol=1e-4)


@pytest.mark.parametrize("which", ["map classifier", "map regressor"])
def test_a_fit_on_blocks(which):
    estimator = (CLASSIFIERS | REGRESSORS)[which]
    lacking = without(KNOWN, seed=4)
    y = targets(which)
    new = (NEW_NUMBERS > 0).astype(int) if which in CLASSIFIERS else NEW_NUMBERS
    found = estimator.fit(gl.in_blocks(lacking, y))
    assert found.score(gl.Views(ASKED), new) > 0.7


@estimators("map")
def test_saved_and_loaded(fitted, which, tmp_path):
    gl.save(fitted[which, False], tmp_path / "model.gramless")
    loaded = gl.load(tmp_path / "model.gramless")
    np.testing.assert_array_equal(answers(loaded, gl.Views(ASKED)), answers(fitted[which, False], gl.Views(ASKED)))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("which", ["map classifier", "map regressor", "map"])
def test_onnx_says_the_same(fitted, which, whole, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    estimator = fitted[which, whole]
    gl.export_onnx(estimator, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    output = {"map classifier": "scores", "map regressor": "predictions", "map": "vectors"}[which]
    for views in (NEW, ASKED):
        (found,) = session.run([output], views)
        expected = answers(estimator, gl.Views(views))
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    spoilt = {name: x.copy() for name, x in NEW.items()}
    spoilt["a"][2, 1] = np.nan  # a NaN among numbers
    for x in spoilt.values():
        x[5] = np.nan  # nothing is known
    (found,) = session.run([output], spoilt)
    rows = np.isnan(found.reshape(N_NEW, -1)).any(1)
    assert np.flatnonzero(rows).tolist() == [2, 5]


def test_a_sample_without_weight_completes_nobody():
    lacking = without(KNOWN, seed=4)
    weights = np.ones(N)
    weights[60:] = 0.0
    for which in (*CLASSIFIERS, *REGRESSORS):
        estimator, y = (CLASSIFIERS | REGRESSORS)[which], targets(which)
        weighed = answers(estimator.fit(gl.Views(lacking), y, weights), NEW)
        fewer = answers(estimator.fit(gl.Views(lacking)[:60], y[:60]), NEW)
        np.testing.assert_allclose(weighed, fewer, rtol=0, atol=1e-4 * np.abs(fewer).max())


def test_one_array_with_views():
    columns = {"a": slice(0, 4), "b": slice(4, 7), "c": slice(7, 8)}
    X, new = np.hstack(list(without(KNOWN, seed=4).values())), np.hstack(list(ASKED.values()))
    estimator = gl.DeepMapClassifier(SMALL, 30, tuning=None, C=1.0, head="ridge", views=columns, random_state=0)
    found = estimator.fit(X, targets("map classifier")).decision_function(new)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("regressor", [gl.DeepMapRegressor(n_landmarks=20), gl.DeepKernelRegressor()])
def test_columns_that_nobody_has_named_are_no_views(regressor):
    """A regressor makes a view of every column of one array; a NaN in it is still a NaN."""
    X = KNOWN["a"][:40].copy()
    regressor.fit(X, NUMBERS[:40])
    X[3, 1] = np.nan
    with pytest.raises(gl.DataError, match="first at row 3, column 1"):
        regressor.predict(X)
    with pytest.raises(gl.DataError, match="first at row 3, column 1"):
        regressor.fit(X, NUMBERS[:40])


@estimators("map")
def test_what_cannot_be_used(fitted, which):
    estimator = (CLASSIFIERS | REGRESSORS | {"map": MAP})[which]
    nobody = {**KNOWN, "b": np.full_like(KNOWN["b"], np.nan)}
    with pytest.raises(gl.DataError, match=r"view 'b' is missing .* for every sample"):
        estimator.fit(gl.Views(nobody), targets(which))
    one = {name: x.copy() for name, x in NEW.items()}
    one["b"][7, 2] = np.nan
    with pytest.raises(gl.DataError, match="'b' contains NaN or infinity, first at row 7, column 2"):
        answers(fitted[which, True], one)
    nothing = {name: np.where(np.arange(N_NEW)[:, None] == 6, np.nan, x) for name, x in NEW.items()}
    with pytest.raises(gl.DataError, match="row 6 is NaN in all of the views"):
        answers(fitted[which, True], nothing)
    with pytest.raises(gl.DataError, match="'b' has 2 features"):
        answers(fitted[which, True], {**ASKED, "b": ASKED["b"][:, :2]})
    everybody = {**NEW, "b": np.full_like(NEW["b"], np.nan)}
    assert np.isfinite(answers(fitted[which, True], everybody)).all()  # at predict, others have it
