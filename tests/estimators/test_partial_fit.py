"""Learning from blocks that come once."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

import gramless as gl

N = 1_500
NETWORK = gl.DeepKernelNetwork(hidden=(4,), learning=None)
SMALL = {"kernel": NETWORK, "n_landmarks": 40, "tuning": None, "random_state": 0}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, N)
    centres = rng.random((3, 8))
    return {"a": centres[y, :5] + 1.5 * rng.random((N, 5)), "b": centres[y, 5:] + 1.5 * rng.random((N, 3))}, y


def part(X, rows):
    return {name: view[rows] for name, view in X.items()}


def in_turn(model, X, y, first=300, step=150, **options):
    for start, stop in [(0, first), *((i, i + step) for i in range(first, 1200, step))]:
        model.partial_fit(part(X, slice(start, stop)), y[start:stop], **options)
    return model


def test_nearly_as_good_as_all_at_once(samples):
    X, y = samples
    held_out, truth = part(X, slice(1200, None)), y[1200:]
    online = in_turn(gl.DeepMapClassifier(**SMALL), X, y)
    at_once = gl.DeepMapClassifier(**SMALL).fit(part(X, slice(0, 1200)), y[:1200])
    assert at_once.score(held_out, truth) < 1.0
    assert online.score(held_out, truth) > at_once.score(held_out, truth) - 0.03
    first_only = gl.DeepMapClassifier(**SMALL).fit(part(X, slice(0, 60)), y[:60])
    assert online.score(held_out, truth) > first_only.score(held_out, truth)


def test_landmarks_are_moved_by_the_first_block_and_stay(samples):
    X, y = samples
    held_out, truth = part(X, slice(1200, None)), y[1200:]
    settings = SMALL | {"kernel": gl.DeepKernelNetwork(learning=None), "tuning": "auto"}
    first = gl.DeepMapClassifier(**settings).fit(part(X, slice(0, 300)), y[:300])
    online = in_turn(gl.DeepMapClassifier(**settings), X, y)
    assert online.finishing_curve_ == first.finishing_curve_
    landmarks, expected = online.map_network_.landmarks_, first.map_network_.landmarks_
    np.testing.assert_array_equal(landmarks["a"], expected["a"])
    assert not np.isin(landmarks["a"], X["a"].astype(np.float32)).all()
    assert online.score(held_out, truth) > first.score(held_out, truth) - 0.01


def test_several_labels_per_sample(samples):
    X, y = samples
    Y = np.column_stack([y == 0, y == 1, y > 0]).astype(int)
    model = in_turn(gl.DeepMapClassifier(**SMALL), X, Y)
    assert model.predict(X).shape == (N, 3)
    assert (model.predict(X) == Y).mean() > 0.85


def test_classes_may_come_later_if_they_are_announced(samples):
    X, y = samples
    order = np.argsort(np.where(y == 2, 1, 0), kind="stable")
    X, y = part(X, order), y[order]
    model = gl.DeepMapClassifier(**SMALL).partial_fit(part(X, slice(0, 400)), y[:400], classes=[0, 1, 2])
    assert not (model.predict(X) == 2).any()
    model.partial_fit(part(X, slice(400, N)), y[400:])
    assert (model.predict(X)[y == 2] == 2).mean() > 0.7
    unannounced = gl.DeepMapClassifier(**SMALL).partial_fit(part(X, slice(0, 400)), y[:400])
    with pytest.raises(gl.DataError, match=r"the class .*2.* none of the known"):
        unannounced.partial_fit(part(X, slice(1300, N)), y[1300:])


def test_other_classes_than_were_announced_are_refused(samples):
    X, y = samples
    model = gl.DeepMapClassifier(**SMALL).partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[2, 1, 0])
    with pytest.raises(gl.DataError, match=r"got classes=\[0, 1, 2, 3\], but \[0, 1, 2\] with the first block"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])


def test_classes_beside_an_indicator_are_its_columns(samples):
    X, y = samples
    Y = np.eye(3, dtype=int)[y]
    with_classes, without = (
        in_turn(gl.DeepMapClassifier(**SMALL), X, Y, **options) for options in ({"classes": [0, 1, 2]}, {})
    )
    np.testing.assert_array_equal(with_classes.predict(X), without.predict(X))


def test_what_is_remembered_must_fit_into_the_budget(samples):
    X, y = samples
    Y = np.eye(20, dtype=int)[y + 3 * (np.arange(N) % 6)]
    model = gl.DeepMapClassifier(**(SMALL | {"n_landmarks": 150}))
    words = "remembering blocks of 20 labels on 150 features"
    with gl.config_context(memory_budget="9MB"), pytest.raises(gl.MemoryBudgetError, match=words):
        model.partial_fit(X, Y)


def test_fit_begins_anew(samples):
    X, y = samples
    model = in_turn(gl.DeepMapClassifier(**SMALL), X, y)
    expected = gl.DeepMapClassifier(**SMALL).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), expected)


def fitted(X, y, how, **settings):
    source = gl.in_blocks(X, y, rows=100) if how == "in blocks" else X
    return gl.DeepMapClassifier(**SMALL, **settings).fit(source, y)


CASES = [
    ("in memory", {}),
    ("in memory", {"C": 100.0}),
    ("in memory", {"C": 1e4, "head": "ridge"}),
    ("in blocks", {}),
    ("in blocks", {"head": "ridge"}),
]


@pytest.mark.parametrize(("how", "settings"), CASES, ids=str)
def test_after_fit_it_goes_on_from_the_fit(samples, how, settings):
    """A few samples more change little; as many more as there were are nearly as good as fitting all at once."""
    X, y = samples
    held_out, truth = part(X, slice(1200, None)), y[1200:]
    model = fitted(part(X, slice(0, 600)), y[:600], how, **settings)
    before = model.decision_function(held_out)
    model.partial_fit(part(X, slice(600, 612)), y[600:612])
    assert np.abs(model.decision_function(held_out) - before).mean() < 0.1 * np.abs(before).mean()
    for start in range(612, 1200, 98):
        model.partial_fit(part(X, slice(start, start + 98)), y[start : start + 98])
    vectors = model.map_network_.transform(X)
    at_once = [machine_at_once(model, vectors[:1200], np.where(y[:1200] == k, 1.0, -1.0)) for k in range(3)]
    expected = np.column_stack([each(vectors[1200:]) for each in at_once])
    gap = np.abs(model.decision_function(held_out) - expected).mean() / np.abs(expected).mean()
    assert gap < (1e-4 if model.head_kind_ == "ridge" and how == "in memory" else 0.1)
    assert model.score(held_out, truth) >= (expected.argmax(1) == truth).mean() - 0.01


def machine_at_once(model, vectors, sign):
    """scikit-learn's machine with the settings that the model has, on all vectors."""
    if model.head_kind_ == "ridge":
        return Ridge(alpha=0.5 / model.C_).fit(vectors, sign).predict
    return LinearSVC(C=model.C_, dual=False, tol=1e-6, max_iter=10_000).fit(vectors, sign).decision_function


def test_after_fit_weights_of_its_samples_are_remembered(samples):
    X, y = samples
    weights = np.random.default_rng(0).uniform(0.2, 5.0, 600)
    first, rest = part(X, slice(0, 600)), part(X, slice(600, 1200))
    model = gl.DeepMapClassifier(**SMALL, head="ridge", C=10.0).fit(first, y[:600], weights)
    vectors = model.partial_fit(rest, y[600:1200]).map_network_.transform(X)
    together = np.concatenate([weights, np.ones(600)])
    for k in range(3):
        expected = Ridge(alpha=0.05).fit(vectors[:1200], np.where(y[:1200] == k, 1.0, -1.0), together)
        np.testing.assert_allclose(model.decision_function(X)[:, k], expected.predict(vectors), atol=1e-3)


def test_after_fit_a_block_of_one_class_does_not_make_it_forget_the_others(samples):
    X, y = samples
    model = fitted(X, y, "in memory")
    before = model.score(X, y)
    rows = np.flatnonzero(y == 1)[:50]
    assert model.partial_fit(part(X, rows), y[rows]).score(X, y) > before - 0.02


def test_after_fit_its_classes_and_its_columns_stay(samples):
    X, y = samples
    model = fitted(X, y, "in memory")
    with pytest.raises(gl.DataError, match=r"the class .*3.* none of the known"):
        model.partial_fit(X, y + 1)
    with pytest.raises(gl.DataError, match="with the first block"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(gl.DataError):
        model.partial_fit({"a": X["a"]}, y)


def test_after_fit_with_balanced_classes_it_is_refused(samples):
    X, y = samples
    model = gl.DeepMapClassifier(**SMALL, class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match="partial_fit cannot balance classes"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="was fitted with them"):
        model.set_params(class_weight=None).partial_fit(X, y)


def test_after_fit_and_a_file_it_goes_on_all_the_same(samples, tmp_path):
    X, y = samples
    model = fitted(X, y, "in memory")
    gl.save(model, tmp_path / "model.gramless")
    again = gl.load(tmp_path / "model.gramless")
    for each in (model, again):
        each.partial_fit(part(X, slice(0, 100)), y[:100])
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)


def test_it_goes_on_after_it_was_saved(samples, tmp_path):
    X, y = samples
    model = gl.DeepMapClassifier(**SMALL).partial_fit(part(X, slice(0, 700)), y[:700])
    gl.save(model, tmp_path / "model.gramless")
    again = gl.load(tmp_path / "model.gramless")
    for each in (model, again):
        each.partial_fit(part(X, slice(700, N)), y[700:])
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)


def test_what_blocks_cannot_tell_is_refused(samples):
    X, y = samples
    with pytest.raises(ValueError, match="partial_fit cannot balance classes"):
        gl.DeepMapClassifier(**SMALL, class_weight="balanced").partial_fit(X, y)
