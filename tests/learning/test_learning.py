"""Learning a network: it finds the view that matters, stops where it should, and continues where it stopped."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import gramless as gl
from gramless.estimators import network_learning
from gramless.learning import SemiSupervised, Supervised, trainer

FEW = Supervised(n_steps=15)


@pytest.fixture(scope="module")
def data():
    """One view that tells two of three classes apart, one that tells the third, and one of noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    first = rng.random((150, 4)) + 0.5 * (y == 0)[:, None] * np.array([1, 0, 0, 1])
    second = rng.random((150, 4)) + 0.5 * (y == 1)[:, None] * np.array([0, 1, 1, 0])
    return gl.Views({"first": first, "second": second, "noise": 3 * rng.random((150, 60))}), y


def weight_of(kernel, view):
    """The share of a view in the network's combined weights."""
    combined = kernel.layers[-1].weights
    for layer in reversed(kernel.layers[:-1]):
        combined = combined @ layer.weights
    of_view = [q for q, entry in enumerate(kernel.inputs) if entry.view == view]
    return (combined[0, of_view].sum() / combined.sum()).item()


@pytest.mark.parametrize("hidden", [(), (6,), (5, 4)], ids=["2 layers", "3 layers", "4 layers"])
def test_weight_moves_from_noise_to_what_matters_and_the_objective_falls(hidden):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    noise = {f"noise{i}": rng.random((150, 3)) for i in range(4)}
    X = gl.Views({"informative": rng.random((150, 3)) + 0.7 * np.eye(3)[y], **noise})
    to_the_end = Supervised(n_steps=15, validation=0.0)
    network = gl.DeepKernelNetwork(("gaussian", "linear"), hidden, learning=to_the_end, random_state=0).fit(X, y)
    start = gl.DeepKernelNetwork(("gaussian", "linear"), hidden, learning=None, random_state=0).fit(X)
    assert weight_of(network.kernel_, "informative") > 1.5 * weight_of(start.kernel_, "informative")
    curve = network.learning_curve_
    assert curve[-1].objective < curve[0].objective
    assert [point.step for point in curve] == [0, 5, 10, 15]
    for learned, initial in zip(network.kernel_.layers, start.kernel_.layers, strict=True):
        np.testing.assert_allclose(learned.weights.sum(1), initial.weights.sum(1))
        assert learned.weights.min() >= 0


def test_a_learned_kernel_classifies_better_than_its_start():
    """One view in twenty says something."""
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 200)
        noise = {f"noise{i}": rng.random((200, 3)) for i in range(19)}
        X = gl.Views({"informative": rng.random((200, 3)) + 0.7 * np.eye(3)[y], **noise})
        accuracies = []
        for learning in (None, FEW):
            network = gl.DeepKernelNetwork(("gaussian",), (6,), learning=learning, random_state=0).fit(X[:90], y[:90])
            machine = SVC(kernel="precomputed").fit(network.kernel_(X[:90]), y[:90])
            accuracies.append(machine.score(network.kernel_(X[90:], X[:90]), y[90:]))
        gains.append(accuracies[1] - accuracies[0])
    assert np.mean(gains) > 0.2


def test_several_labels_and_sparse_indicators(data):
    X, y = data
    Y = np.eye(3, dtype=int)[y]
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=FEW, random_state=0)
    by_class, by_label = network.fit(X, y).kernel_(X), network.fit(X, Y).kernel_(X)
    np.testing.assert_allclose(by_class, by_label, rtol=1e-5)


def test_unlabelled_rows_are_used_and_their_labels_never_looked_at(data):
    X, y = data
    labelled = np.arange(150) < 40
    settings = SemiSupervised(n_steps=5, strength=0.1)
    network = gl.DeepKernelNetwork(("gaussian",), (3,), learning=settings, random_state=0)
    nonsense = np.where(labelled, y, 2 - y)
    expected = network.fit(X, y, labelled=labelled).kernel_(X)
    np.testing.assert_array_equal(network.fit(X, nonsense, labelled=labelled).kernel_(X), expected)
    np.testing.assert_array_equal(network.fit(X, np.where(labelled, y, -1)).kernel_(X), expected)
    without = gl.DeepKernelNetwork(("gaussian",), (3,), learning=Supervised(n_steps=5), random_state=0)
    assert np.abs(without.fit(X[labelled], y[labelled]).kernel_(X) - expected).max() > 1e-4


def test_minus_one_is_a_class_like_others_unless_learning_is_semi_supervised(data):
    X, y = data
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=Supervised(n_steps=2), random_state=0)
    np.testing.assert_allclose(network.fit(X, y - 1).kernel_(X), network.fit(X, y).kernel_(X))


def test_the_best_step_is_kept_and_learning_stops_when_patience_ends(data, monkeypatch):
    X, y = data
    scores = iter([10.0, 30.0, 20.0, 20.0, 20.0, 20.0, 20.0])
    monkeypatch.setattr("gramless.estimators.network_learning.annotation_score", lambda signs: lambda m: next(scores))
    settings = Supervised(n_steps=50, evaluate_every=2, patience=3)
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(X, y)
    assert [point.step for point in network.learning_curve_] == [0, 2, 4, 6, 8]
    short = gl.DeepKernelNetwork(("gaussian",), (), learning=Supervised(n_steps=2, evaluate_every=2), random_state=0)
    scores = iter([1.0, 2.0])
    np.testing.assert_allclose(short.fit(X, y).kernel_(X), network.kernel_(X), rtol=1e-6)


def test_an_interrupted_run_continues_to_the_same_bits(data, tmp_path, monkeypatch):
    X, y = data

    def network(path):
        settings = Supervised(n_steps=12, evaluate_every=3, checkpoint=str(path) if path else None)
        return gl.DeepKernelNetwork(("gaussian", "linear"), (4,), learning=settings, random_state=0)

    expected = network(None).fit(X, y)
    steps = []
    whole = trainer.objective_gradients

    def interrupted(*arguments):
        steps.append(1)
        if len(steps) == 8:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(trainer, "objective_gradients", interrupted)
    with pytest.raises(KeyboardInterrupt):
        network(tmp_path / "run").fit(X, y)
    resumed = network(tmp_path / "run").fit(X, y)
    assert len(steps) < 8 + 12  # it did not start again
    np.testing.assert_array_equal(resumed.kernel_(X), expected.kernel_(X))
    assert resumed.learning_curve_ == expected.learning_curve_


def test_a_checkpoint_of_another_run_or_a_damaged_one_is_refused(data, tmp_path):
    X, y = data
    path = tmp_path / "run"
    settings = Supervised(n_steps=2, checkpoint=str(path))
    gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(X, y)
    with pytest.raises(gl.FileFormatError, match="another run"):
        gl.DeepKernelNetwork(("gaussian",), (3,), learning=settings, random_state=0).fit(X, y)
    other = gl.Views({name: 2 * X[name] + (X[name] > 0.5) for name in X.names})
    with pytest.raises(gl.FileFormatError, match="another run"):
        gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(other, y)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(gl.FileFormatError, match=r"no Gramless checkpoint.*Remove it to start afresh"):
        gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(X, y)


def first_changed(X):
    view = X["noise"].copy()
    view[-1, -1] += 0.5
    return gl.Views({"first": X["first"], "second": X["second"], "noise": view})


OTHER_RUNS = {
    "labels": lambda X, y: (X, np.roll(y, 1), {}),
    "one label": lambda X, y: (X, np.where(np.arange(150) == 149, (y + 1) % 3, y), {}),
    "one number": lambda X, y: (first_changed(X), y, {}),
    "seed": lambda X, y: (X, y, {"random_state": 1}),
    "activation": lambda X, y: (X, y, {"output_activation": "sinh"}),
    "hidden activation": lambda X, y: (X, y, {"activation": "sinh"}),
    "kernel": lambda X, y: (X, y, {"kernels": ("laplacian",)}),
    "settings": lambda X, y: (X, y, {}),
    "gain": lambda X, y: (X, y, {"output_gain": 2.0}),
}


@pytest.mark.parametrize("difference", OTHER_RUNS)
def test_a_checkpoint_is_of_all_that_the_result_depends_on(data, tmp_path, difference):
    X, y = data
    settings = Supervised(n_steps=2, checkpoint=str(tmp_path / "run"))
    network = gl.DeepKernelNetwork(("gaussian",), (3,), weights="uniform", learning=settings, random_state=0)
    expected = network.fit(X, y).kernel_(X)
    np.testing.assert_array_equal(network.fit(X, y).kernel_(X), expected)
    other, labels, parameters = OTHER_RUNS[difference](X, y)
    if difference == "settings":
        parameters = {"learning": replace(settings, gap=0.01)}
    with pytest.raises(gl.FileFormatError, match="another run"):
        network.set_params(**parameters).fit(other, labels)


def test_a_checkpoint_knows_every_label_also_held_out_ones(data, tmp_path):
    X, y = data
    settings = Supervised(n_steps=2, validation=0.5, checkpoint=str(tmp_path / "run"))
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(X, y)
    for row in range(0, 150, 10):
        with pytest.raises(gl.FileFormatError, match="another run"):
            network.fit(X, np.where(np.arange(150) == row, (y + 1) % 3, y))


def test_a_checkpoint_knows_the_labels_where_nothing_is_held_out(data, tmp_path):
    """Then the same samples are learned from, in the same order, whatever their labels are."""
    X, y = data
    settings = Supervised(n_steps=2, validation=0.0, checkpoint=str(tmp_path / "run"))
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(X, y)
    for other in (np.roll(y, 1), np.where(np.arange(150) == 149, (y + 1) % 3, y)):
        with pytest.raises(gl.FileFormatError, match="another run"):
            network.fit(X, other)


@pytest.mark.parametrize("row", [148, 149], ids=["held out", "learned from"])
def test_a_checkpoint_knows_a_label_that_moves_no_sample_to_the_other_part(data, tmp_path, monkeypatch, row):
    X, y = data
    monkeypatch.setattr(network_learning, "hold_out_stratified", lambda signs, *_: np.arange(len(signs)) % 2 == 0)
    settings = Supervised(n_steps=2, checkpoint=str(tmp_path / "run"))
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(X, y)
    with pytest.raises(gl.FileFormatError, match="another run"):
        network.fit(X, np.where(np.arange(150) == row, (y + 1) % 3, y))


def test_settings_are_what_a_grid_search_lists(data):
    X, y = data
    grid = {"kernel__learning": [None, Supervised(n_steps=3)], "kernel__hidden": [(), (2,)]}
    classifier = gl.DeepMapClassifier(gl.DeepKernelNetwork(("gaussian",)), n_landmarks=30, random_state=0)
    search = GridSearchCV(classifier, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.7


@pytest.mark.parametrize(
    "bad", [{"C": 0.0}, {"C": -1.0}, {"validation": 1.0}, {"n_steps": -1}, {"max_samples": 1}], ids=str
)
def test_settings_that_cannot_be(bad):
    with pytest.raises(ValueError, match="|".join(bad)):
        Supervised(**bad)


def test_what_cannot_be_learned_is_said(data):
    X, y = data
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=FEW, random_state=0)
    with pytest.raises(ValueError, match="requires y to be passed"):
        network.fit(X)
    with pytest.raises(gl.DataError, match="one class"):
        network.fit(X, np.zeros(150))
    with pytest.raises(gl.DataError, match="no sample is labelled"):
        network.fit(X, y, labelled=np.zeros(150, bool))
    with pytest.raises(gl.DataError, match="one class"):
        network.fit(X, y, labelled=np.arange(150) == 3)
    with pytest.raises(gl.DataError, match="mask"):
        network.fit(X, y, labelled=np.arange(150))
    with pytest.raises(ValueError, match="learning='deep'"):
        gl.DeepKernelNetwork(learning="deep").fit(X, y)


def test_few_samples_and_labels_without_positives_work(data):
    X, y = data
    Y = np.column_stack([np.eye(3, dtype=int)[y], np.zeros(150, int), np.ones(150, int)])
    network = gl.DeepKernelNetwork(("gaussian",), (3,), learning=Supervised(n_steps=2), random_state=0)
    assert np.isfinite(network.fit(X, Y).kernel_(X)).all()
    assert np.isfinite(network.fit(X[:5], [0, 1, 0, 1, 1]).kernel_(X)).all()


def test_learning_on_a_sample_of_a_large_set(data):
    X, y = data
    settings = Supervised(n_steps=3, max_samples=40)
    network = gl.DeepKernelNetwork(("gaussian",), (), learning=settings, random_state=0).fit(X, y)
    assert network.learning_curve_[0].objective < 3 * 40 * settings.C
    assert torch.isfinite(network.kernel_.layers[0].weights).all()
