"""Rare labels are learned from, whatever the seed, and the rest is held out in proportion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramless as gl
from gramless.learning import SemiSupervised, Supervised, draw_stratified, hold_out_stratified
from tests.contracts.samples import generator


def of_classes(classes):
    return np.where(np.asarray(classes)[:, None] == np.unique(classes), 1.0, -1.0)


@given(
    n=st.integers(1, 60),
    n_labels=st.integers(1, 6),
    frequency=st.floats(0.0, 1.0),
    share=st.floats(0.0, 0.99),
    size=st.integers(2, 70),
    seed=st.integers(0, 2**31),
)
def test_whatever_any_sample_is_can_be_learned(n, n_labels, frequency, share, size, seed):
    signs = np.where(np.random.default_rng(seed).random((n, n_labels)) < frequency, 1.0, -1.0)
    drawn = draw_stratified(signs, size, generator(seed))
    assert len(drawn) == min(n, size)
    assert (np.diff(drawn) > 0).all()
    for kept in (signs[~hold_out_stratified(signs, share, generator(seed))], signs[drawn]):
        if len(kept) >= 2 * n_labels:  # room for a sample of each kind
            assert ((kept > 0).any(0) == (signs > 0).any(0)).all()
            assert ((kept < 0).any(0) == (signs < 0).any(0)).all()
    assert not hold_out_stratified(signs, share, generator(seed)).all()


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_classes_are_held_out_in_proportion(n_classes, share):
    classes = np.random.default_rng(0).integers(0, n_classes, 500)
    held = hold_out_stratified(of_classes(classes), share, generator())
    assert abs(held.sum() - share * 500) <= 1
    for c in range(n_classes):
        assert abs(held[classes == c].sum() - share * (classes == c).sum()) <= 1.5


def test_labels_are_held_out_in_proportion():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random((600, 30)) < rng.uniform(0.01, 0.2, 30), 1.0, -1.0)
    held = hold_out_stratified(signs, 0.2, generator())
    assert abs(held.sum() - 120) <= 3
    # each label by itself is off by a sample; those that came before it have settled some of its samples
    assert np.abs((held[:, None] & (signs > 0)).sum(0) - 0.2 * (signs > 0).sum(0)).max() < 5


def test_many_classes_of_few_samples_still_leave_a_part_to_judge_by():
    held = hold_out_stratified(of_classes(np.arange(300) // 3), 0.2, generator())
    assert abs(held.sum() - 60) <= 1


@pytest.mark.parametrize("share", [0.6, 0.99])
def test_the_only_sample_of_a_class_is_never_held_out(share):
    signs = of_classes(np.arange(50) == 17)
    assert not any(hold_out_stratified(signs, share, generator(seed))[17] for seed in range(20))


def test_the_seed_decides():
    signs = of_classes(np.arange(90) % 4)
    first, again, other = (hold_out_stratified(signs, 0.3, generator(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("rare", [0, 1, 2])
@pytest.mark.parametrize(
    "learning", [Supervised(n_steps=1), SemiSupervised(n_steps=1), Supervised(1.0, 1, max_samples=20)]
)
def test_one_sample_of_a_class_is_enough_for_every_seed(rare, learning):
    rng = np.random.default_rng(0)
    X = rng.random((50, 4))
    y = np.full(50, 1 - rare) if rare < 2 else np.arange(50) % 2
    y[17] = rare
    for seed in range(20):
        network = gl.DeepKernelNetwork(("gaussian",), (), learning=learning, random_state=seed).fit(X, y)
        assert network.learning_curve_[0].objective > 0  # the class was learned from


@pytest.mark.parametrize("kind", [gl.DeepKernelClassifier, gl.DeepMapClassifier])
def test_classifiers_know_a_class_of_one_sample_for_every_seed(kind):
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 4)), np.ones(50, dtype=int)
    X[17], y[17] = 3.0, 0
    options = {"n_landmarks": 20} if kind is gl.DeepMapClassifier else {}
    for seed in range(20):
        network = gl.DeepKernelNetwork(("gaussian",), (2,), learning=Supervised(n_steps=1))
        model = kind(network, C=10.0, random_state=seed, **options)
        assert model.fit(X, y).score(X, y) == 1.0


def test_a_label_of_one_sample_is_calibrated_for_every_seed():
    rng = np.random.default_rng(0)
    X = rng.random((50, 4))
    Y = (X[:, :3] > 0.5).astype(int)
    Y[:, 2] = np.arange(50) == 17
    for seed in range(20):
        network = gl.DeepKernelNetwork(("gaussian",), learning=Supervised(n_steps=1))
        model = gl.DeepMapClassifier(network, n_landmarks=20, top_k=1, random_state=seed)
        assert np.isfinite(model.fit(X, Y).decision_function(X)).all()
        assert model.predict(X).sum(1).tolist() == [1] * 50
