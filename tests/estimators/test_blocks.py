"""Estimators on data in blocks: what they do in memory, on all samples or on a sample of them."""

import dask.array as da
import h5py
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import gramless as gl

N = 1_200
NETWORK = gl.DeepKernelNetwork(hidden=(4,), learning=None)
SMALL = {"kernel": NETWORK, "random_state": 0}
UNTUNED = SMALL | {"tuning": None}  # where it does not matter what the map is


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, N)
    centres = rng.random((3, 9))
    X = {
        "colour": (centres[y, :5] + 0.8 * rng.random((N, 5))).astype(np.float32),
        "shape": (centres[y, 5:] + 0.8 * rng.random((N, 4))).astype(np.float32),
    }
    return X, y


def sampled(X, rows):
    return {name: view[rows] for name, view in X.items()}


def test_a_network_is_that_of_the_sample(samples, monkeypatch):
    X, y = samples
    monkeypatch.setattr(gl.DeepKernelNetwork, "sample_size", lambda self: 300)
    network = gl.DeepKernelNetwork(hidden=(4,), learning=gl.Supervised(n_steps=3), random_state=0)
    whole = gl.in_blocks(X, y, rows=170)
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    rows = whole.sample(300, seed).rows
    in_blocks = network.fit(whole).kernel_
    in_memory = gl.DeepKernelNetwork(hidden=(4,), learning=gl.Supervised(n_steps=3), random_state=0).fit(
        sampled(X, rows), y[rows]
    )
    for mine, other in zip(in_blocks.layers, in_memory.kernel_.layers, strict=True):
        np.testing.assert_array_equal(mine.weights, other.weights)


@pytest.mark.parametrize("tuning", [None, "landmarks"])
def test_vectors_are_those_of_the_same_map_in_memory(samples, tuning, monkeypatch):
    X, _ = samples
    monkeypatch.setattr(gl.DeepMapNetwork, "sample_size", lambda self: 300)
    network = gl.DeepMapNetwork(NETWORK, 40, tuning=tuning, random_state=0)
    rows = network.fit(gl.in_blocks(X, rows=170)).transform(gl.in_blocks(X, rows=111))
    assert rows.shape == (N, network.map_.n_components)
    np.testing.assert_allclose(np.asarray(rows), network.transform(X), atol=1e-4)
    if tuning is None:
        for landmark, row in enumerate(network.landmark_indices_):  # numbers of the data's rows, not of the sample's
            np.testing.assert_array_equal(network.landmarks_["shape"][landmark], X["shape"][row])


def test_arrays_of_hdf5_need_no_wrapping(samples, tmp_path):
    X, y = samples
    with h5py.File(tmp_path / "samples.h5", "w") as file:
        stored = {name: file.create_dataset(name, data=view) for name, view in X.items()}
        joint = file.create_dataset("all", data=np.hstack(list(X.values())))
        model = gl.DeepMapClassifier(n_landmarks=40, **UNTUNED).fit(stored, y)
        expected = model.predict(X)
        np.testing.assert_array_equal(np.asarray(model.predict(stored)), expected)
        np.testing.assert_array_equal(np.asarray(model.predict(joint)), expected)
        del file["all"]
        np.testing.assert_array_equal(
            np.asarray(gl.DeepMapClassifier(n_landmarks=40, **UNTUNED).fit(file, y).predict(file)), expected
        )


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0}])
def test_classifiers_are_liblinears_on_all_samples(samples, class_weight):
    X, y = samples
    y = np.where(y == 2, 2, np.where(np.arange(N) % 7 == 0, 0, 1))
    model = gl.DeepMapClassifier(n_landmarks=30, class_weight=class_weight, C=1.0, head="squared_hinge", **SMALL)
    scores = np.asarray(model.fit(gl.in_blocks(X, y, rows=130)).decision_function(gl.in_blocks(X, rows=500)))
    phi = model.map_network_.transform(X)
    for label in range(3):
        weight = {False: 1.0, True: class_weight.get(label, 1.0)} if isinstance(class_weight, dict) else class_weight
        machine = LinearSVC(C=1.0, class_weight=weight, dual=False, tol=1e-8, max_iter=100_000).fit(phi, y == label)
        expected = machine.decision_function(phi)
        np.testing.assert_allclose(scores[:, label], expected, atol=2e-3 * np.abs(expected).max())


def test_two_classes_are_balanced_as_liblinear_does(samples):
    X, _ = samples
    rare = (np.arange(N) % 9 == 0).astype(int)
    model = gl.DeepMapClassifier(n_landmarks=30, class_weight="balanced", C=1.0, head="squared_hinge", **UNTUNED).fit(
        gl.in_blocks(X, rare, rows=130)
    )
    phi = model.map_network_.transform(X)
    machine = LinearSVC(C=1.0, class_weight="balanced", dual=False, tol=1e-8, max_iter=100_000).fit(phi, rare)
    expected = machine.decision_function(phi)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-3 * np.abs(expected).max())


def test_two_classes_and_texts(samples):
    X, y = samples
    words = np.where(y == 1, "yes", "no")
    model = gl.DeepMapClassifier(n_landmarks=40, **SMALL).fit(gl.in_blocks(X, rows=200), words)
    assert model.classes_.tolist() == ["no", "yes"]
    predicted = np.asarray(model.predict(gl.in_blocks(X, rows=77)))
    np.testing.assert_array_equal(predicted, model.predict(X))
    assert (predicted == words).mean() > 0.9
    assert np.asarray(model.decision_function(gl.in_blocks(X))).shape == (N,)


def test_several_labels_per_sample(samples):
    X, y = samples
    Y = np.column_stack([y == 0, y == 1, y == 2, np.zeros(N)]).astype(int)
    model = gl.DeepMapClassifier(n_landmarks=40, top_k=2, **SMALL).fit(gl.in_blocks(X, rows=200), Y)
    predicted = np.asarray(model.predict(gl.in_blocks(X, rows=300)))
    assert predicted.shape == (N, 4)
    np.testing.assert_array_equal(predicted, model.predict(X))
    assert (np.asarray(model.decision_function(gl.in_blocks(X)))[:, 3] < 0).all()  # a label that no sample has


def test_a_class_that_the_sample_misses_is_learned(samples, monkeypatch):
    X, y = samples
    monkeypatch.setattr(gl.DeepMapNetwork, "sample_size", lambda self: 200)
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    outside = np.setdiff1d(np.flatnonzero(y == 2), gl.in_blocks(X).sample(200, seed).rows)
    rare = y % 2
    rare[outside[:40]] = 9
    model = gl.DeepMapClassifier(n_landmarks=40, **UNTUNED).fit(gl.in_blocks(X, rare, rows=100))
    assert model.classes_.tolist() == [0, 1, 9]
    assert np.abs(model.head_.coefficients[2]).max() > 0


def test_a_rare_class_is_learned_with_weights_of_the_network_too(samples, monkeypatch):
    X, _ = samples
    monkeypatch.setattr(gl.DeepMapNetwork, "sample_size", lambda self: 200)
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    rare = np.zeros(N, dtype=int)
    rare[np.setdiff1d(np.arange(N), gl.in_blocks(X).sample(200, seed).rows)[[0, 50, -1]]] = 1
    X = {name: view + 3 * rare[:, None].astype(np.float32) for name, view in X.items()}
    learning = gl.Supervised(n_steps=2)
    model = gl.DeepMapClassifier(gl.DeepKernelNetwork(hidden=(4,), learning=learning), 40, C=1000.0, random_state=0)
    assert (model.fit(gl.in_blocks(X, rare, rows=100)).predict(X) == rare).all()


def test_passes_are_as_many_as_allowed(samples, monkeypatch):
    X, _ = samples
    y = (np.arange(N) % 2).astype(int)
    monkeypatch.setattr("gramless.estimators.block_heads.MOST_PASSES", 1)
    monkeypatch.setattr(gl.DeepMapNetwork, "sample_size", lambda self: 200)
    with pytest.warns(ConvergenceWarning, match="have not converged in 1 passes over the data. Lower C"):
        few = gl.DeepMapClassifier(n_landmarks=40, C=100.0, **SMALL).fit(gl.in_blocks(X, y, rows=300))
    assert few.n_iter_ == 1


def test_labels_may_be_a_column(samples):
    X, y = samples
    expected = gl.DeepMapClassifier(n_landmarks=20, **UNTUNED).fit(gl.in_blocks(X, y, rows=400))
    for blocks in (
        gl.in_blocks(X, y[:, None], rows=400),
        gl.in_blocks(lambda: [(sampled(X, slice(a, a + 400)), y[a : a + 400, None]) for a in (0, 400, 800)], True),
        gl.in_blocks({name: da.from_array(view, chunks=(400, 9)) for name, view in X.items()}, y[:, None]),
    ):
        model = gl.DeepMapClassifier(n_landmarks=20, **UNTUNED).fit(blocks)
        np.testing.assert_allclose(model.head_.coefficients, expected.head_.coefficients, rtol=1e-4, atol=1e-6)


def test_kept_vectors_change_nothing_and_leave_nothing(samples, tmp_path):
    X, y = samples
    scratch = tmp_path / "new" / "scratch"
    words = np.array(["none", "one", "two"])[y]
    without, kept = (
        gl.DeepMapClassifier(n_landmarks=40, scratch=folder, **UNTUNED).fit(gl.in_blocks(X, words, rows=150))
        for folder in (None, scratch)
    )
    np.testing.assert_allclose(kept.head_.coefficients, without.head_.coefficients, rtol=1e-5, atol=1e-7)
    assert list(scratch.iterdir()) == []
    gl.save(kept, tmp_path / "model.gramless")
    np.testing.assert_array_equal(gl.load(tmp_path / "model.gramless").predict(X), kept.predict(X))


def test_answers_can_be_written(samples, tmp_path):
    X, y = samples
    model = gl.DeepMapClassifier(n_landmarks=40, **UNTUNED).fit(gl.in_blocks(X, y, rows=150))
    path = model.predict(gl.in_blocks(X, rows=100)).write(tmp_path / "classes.npy")
    np.testing.assert_array_equal(np.load(path), model.predict(X))


def test_fine_tuning_draws_a_sample(samples):
    X, _ = samples
    network = gl.DeepMapNetwork(NETWORK, 30, random_state=0).fit(X)
    before, after = network.fine_tune(gl.in_blocks(X, rows=100)).tuning_errors_
    assert after <= before


def test_a_negative_number_outside_the_sample_is_found(samples, monkeypatch):
    X, y = samples
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    monkeypatch.setattr(gl.DeepMapNetwork, "sample_size", lambda self: 200)
    row = np.setdiff1d(np.arange(N), gl.in_blocks(X).sample(200, seed).rows)[100]
    changed = {name: view.copy() for name, view in X.items()}
    changed["shape"][row, 1] = -0.5
    with pytest.raises(gl.DataError, match=f"view 'shape', row {row:,}: Negative values"):
        gl.DeepMapClassifier(n_landmarks=20, **UNTUNED).fit(gl.in_blocks(changed, y, rows=100))
    gl.DeepMapClassifier(gl.DeepKernelNetwork(["gaussian"], (4,), learning=None), 20, tuning=None).fit(
        gl.in_blocks(changed, y, rows=100)
    )


def test_what_cannot_be_is_refused_before_anything_is_read():

    def never():
        raise AssertionError("nothing should be read")

    unread, unlabelled, kernel = gl.in_blocks(never, True), gl.in_blocks(never), clone(NETWORK)
    refused = [
        (lambda: gl.DeepKernelClassifier(**SMALL).fit(unread), "Use DeepMapClassifier"),
        (lambda: gl.DeepMapNetwork(kernel, landmarks=[1, 2]).fit(unread), "give the landmarks as Views"),
        (lambda: clone(NETWORK).fit(unread, labelled=[True]), "y = -1"),
        (lambda: gl.DeepKernelNetwork(hidden=(4,)).fit(unlabelled), "requires y"),
        (lambda: gl.DeepMapNetwork(gl.DeepKernelNetwork(hidden=(4,))).fit(unlabelled), "requires y"),
        (lambda: gl.DeepMapClassifier(**SMALL).fit(unlabelled), "requires y"),
    ]
    for fit, reason in refused:
        with pytest.raises(ValueError, match=reason):
            fit()


def test_new_data_must_have_the_views_that_were_fitted(samples):
    X, y = samples
    model = gl.DeepMapClassifier(n_landmarks=20, **UNTUNED).fit(gl.in_blocks(X, y))
    with pytest.raises(gl.DataError, match=r"'shape'.*missing"):
        model.predict(gl.in_blocks({"colour": X["colour"]}))


def test_all_of_one_class_is_refused(samples):
    X, _ = samples
    with pytest.raises(gl.DataError, match="one class"):
        gl.DeepMapClassifier(n_landmarks=20, **SMALL).fit(gl.in_blocks(X, np.ones(N, dtype=int)))


def test_what_was_written_before_a_nan_is_kept_and_continued(samples, tmp_path, monkeypatch):
    X, y = samples
    monkeypatch.setattr("gramless.blocks.formats.PIECE_ROWS", 100)
    model = gl.DeepMapClassifier(n_landmarks=20, **UNTUNED).fit(gl.in_blocks(X, y))
    spoilt = {name: view.copy() for name, view in X.items()}
    spoilt["shape"][733, 0] = np.nan
    path = tmp_path / "vectors.npy"
    with pytest.raises(
        gl.DataError, match=r"starts at row 700: view 'shape'.*row 733.*The 700 rows before that are kept"
    ):
        model.map_network_.transform(gl.in_blocks(spoilt, rows=100)).write(path)
    assert (tmp_path / "vectors.npy.partial").is_dir()
    model.map_network_.transform(gl.in_blocks(X, rows=100)).write(path)
    whole = model.map_network_.transform(gl.in_blocks(X, rows=100)).write(tmp_path / "whole.npy")
    assert path.read_bytes() == whole.read_bytes()
