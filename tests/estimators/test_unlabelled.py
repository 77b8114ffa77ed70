"""Samples without a label: learned from by the network and the map, never a class."""

import numpy as np
import pytest
from scipy import sparse

import gramless as gl
from gramless.learning import SemiSupervised, Supervised

N, N_LABELLED = 200, 30
SEMI = SemiSupervised(n_steps=3)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    X = {"a": rng.random((N, 4)) + 1.5 * np.eye(3)[y] @ rng.random((3, 4)), "b": rng.random((N, 3)) + np.eye(3)[y]}
    labelled = np.zeros(N, dtype=bool)
    labelled[rng.permutation(N)[:N_LABELLED]] = True
    return X, y, labelled


def rows(X, chosen):
    return {name: view[chosen] for name, view in X.items()}


def classifier(kind, **options):
    network = gl.DeepKernelNetwork(("gaussian", "linear"), (3,), learning=options.pop("learning", SEMI))
    if kind is gl.DeepMapClassifier:
        options["n_landmarks"] = 40
    return kind(network, random_state=0, **options)


both = pytest.mark.parametrize("kind", [gl.DeepKernelClassifier, gl.DeepMapClassifier])


@both
def test_the_mark_is_no_class_and_the_rest_is_learned(kind, data):
    X, y, labelled = data
    model = classifier(kind).fit(X, np.where(labelled, y, -1))
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) <= {0, 1, 2}
    assert model.score(rows(X, ~labelled), y[~labelled]) > 0.8


@both
def test_labels_behind_the_mark_change_nothing_and_their_samples_do(kind, data):
    X, y, labelled = data
    marked = np.where(labelled, y, -1)
    expected = classifier(kind).fit(X, marked).decision_function(X)
    alone = classifier(kind).fit(rows(X, labelled), y[labelled]).decision_function(X)
    assert np.abs(expected - alone).max() > 1e-3
    np.testing.assert_array_equal(classifier(kind).fit(X, marked.astype(float)).decision_function(X), expected)


@both
def test_an_indicator_with_rows_of_marks(kind, data):
    X, y, labelled = data
    Y = np.where(labelled[:, None], np.eye(3, dtype=int)[y], -1)
    same = {"C": 1.0, "head": "ridge"}  # labels are judged by other measures than classes
    model = classifier(kind).set_params(**same).fit(X, Y)
    by_class = classifier(kind).set_params(**same).fit(X, np.where(labelled, y, -1))
    np.testing.assert_allclose(model.decision_function(X), by_class.decision_function(X), atol=1e-4)
    assert set(np.unique(model.predict(X))) <= {0, 1}
    np.testing.assert_array_equal(
        classifier(kind).set_params(**same).fit(X, sparse.csr_matrix(Y)).decision_function(X),
        model.decision_function(X),
    )


@both
def test_classes_that_are_strings(kind, data):
    X, y, labelled = data
    names = np.array(["ant", "bee", "cat"], dtype=object)[y]
    model = classifier(kind).fit(X, np.where(labelled, names, -1))
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    by_number = classifier(kind).fit(X, np.where(labelled, y, -1))
    np.testing.assert_array_equal(model.decision_function(X), by_number.decision_function(X))
    with pytest.raises(gl.DataError, match="dtype=object and the number -1"):
        classifier(kind).fit(X, np.where(labelled, names, "-1").astype(str))


@both
@pytest.mark.parametrize("learning", [None, Supervised(n_steps=2)])
def test_to_other_learning_minus_one_is_a_class(kind, learning, data):
    X, y, _ = data
    signs = np.where(y == 1, 1, -1)
    model = classifier(kind, learning=learning).fit(X, signs)
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(X, signs) > 0.9


@both
def test_no_label_at_all_is_said(kind, data):
    X, _, _ = data
    with pytest.raises(gl.DataError, match="no sample is labelled"):
        classifier(kind).fit(X, np.full(N, -1))
    with pytest.raises(gl.DataError, match="one class only"):
        classifier(kind).fit(X, np.where(np.arange(N) < 5, 1, -1))


def test_calibration_and_folds_are_of_labelled_samples(data):
    X, y, labelled = data
    Y = np.column_stack([np.eye(3, dtype=int)[y], y > 0])
    marked = np.where(labelled[:, None], Y, -1)
    model = classifier(gl.DeepMapClassifier, top_k=2).fit(X, marked)
    assert model.operating_points_
    assert np.isfinite(model.calibration_.offset).all()
    assert model.predict(X).sum(1).tolist() == [2] * N


@pytest.mark.parametrize("several", [False, True], ids=["classes", "several labels"])
@pytest.mark.parametrize("kept", [False, True], ids=["computed anew", "kept vectors"])
def test_in_blocks(several, kept, data, tmp_path):
    X, y, labelled = data
    y = np.eye(3, dtype=int)[y] if several else y
    marked = np.where(labelled[:, None] if several else labelled, y, -1)
    options = {"scratch": tmp_path} if kept else {}
    model = classifier(gl.DeepMapClassifier, **options).fit(gl.in_blocks(X, marked, rows=7))
    expected = classifier(gl.DeepMapClassifier).fit(X, marked)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict(X) == expected.predict(X)).mean() > 0.95
    for network in (gl.DeepKernelNetwork(("gaussian",), (), learning=SEMI, random_state=0),):
        network.fit(gl.in_blocks(X, marked, rows=7))
        gl.DeepMapNetwork(network, 20, random_state=0).fit(gl.in_blocks(X, marked, rows=7))


@pytest.mark.parametrize("several", [False, True], ids=["classes", "several labels"])
def test_in_turn(several, data):
    X, y, labelled = data
    truth = np.eye(3, dtype=int)[y] if several else y
    marked = np.where(labelled[:, None] if several else labelled, truth, -1)
    model = classifier(gl.DeepMapClassifier)
    for start in (0, 100):
        model.partial_fit(rows(X, slice(start, start + 100)), marked[start : start + 100])
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict(X) == truth).mean() > 0.8
    before = model.decision_function(X)
    nothing = np.full_like(marked[:20], -1)
    np.testing.assert_array_equal(model.partial_fit(rows(X, slice(0, 20)), nothing).decision_function(X), before)
