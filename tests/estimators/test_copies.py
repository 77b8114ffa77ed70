"""Samples that are equal are one, of their weights together; rows keep the numbers that they were given with."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import gramless as gl
from gramless.estimators.distinct import merged_copies

CLASSIFIERS = [gl.DeepKernelClassifier(random_state=0), gl.DeepMapClassifier(n_landmarks=10, random_state=0)]


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(8)
    y = np.arange(30) % 3
    return rng.random((30, 4)) + np.eye(3, 4)[y], y, rng.integers(0, 4, 30)


@pytest.mark.parametrize("weighting", [None, "balanced"])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_weights_are_numbers_of_copies_in_any_order(classifier, weighting, samples):
    X, y, times = samples
    classifier = clone(classifier).set_params(class_weight=weighting)
    weighted = clone(classifier).fit(X, y, sample_weight=times)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(30), times))
    repeated = clone(classifier).fit(X[rows], y[rows])
    np.testing.assert_array_equal(repeated.predict_proba(X), weighted.predict_proba(X))


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_weights_of_one_are_none(classifier, samples):
    X, y, _ = samples
    plain, ones = clone(classifier).fit(X, y), clone(classifier).fit(X, y, sample_weight=np.ones(30))
    np.testing.assert_array_equal(ones.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("weighting", [None, "balanced"])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e6])
def test_weights_may_have_any_unit(classifier, weighting, unit, samples):
    X, y, times = samples
    classifier = clone(classifier).set_params(class_weight=weighting)
    here, there = (clone(classifier).fit(X, y, sample_weight=size * times) for size in (1.0, unit))
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("regressor", [gl.DeepKernelRegressor, gl.DeepMapRegressor])
@pytest.mark.parametrize("unit", [1e-12, 1e-3])
def test_weights_of_numbers_may_be_shares(regressor, unit, samples):
    X, y, _ = samples
    rng = np.random.default_rng(3)
    targets, weights = y + rng.normal(size=30) / 4, rng.uniform(0.1, 0.9, 30)
    here, there = (regressor(random_state=0).fit(X, targets, size * weights) for size in (1.0, unit))
    for ours, theirs in zip(here.predict(X, return_std=True), there.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_rows_keep_their_numbers(samples):
    X, y, _ = samples
    rows = np.concatenate([np.arange(30), np.arange(10)])
    Y = np.eye(3, dtype=int)[y[rows]]
    model = gl.DeepMapClassifier(n_landmarks=5, top_k=1, tuning=None, random_state=0).fit(X[rows], Y)
    np.testing.assert_array_equal(model.unseen_scores_[:10], model.unseen_scores_[30:])
    assert len(model.unseen_scores_) == 40
    np.testing.assert_array_equal(model.map_network_.landmarks_["view0"], X[rows][model.map_network_.landmark_indices_])


def test_landmarks_by_their_rows_are_those_that_were_meant(samples):
    X, y, _ = samples
    weights = np.ones(30)
    weights[3], weights[7] = 0.0, 2.5
    chosen = gl.DeepMapClassifier(landmarks=[20, 4, 7], tuning=None, random_state=0)
    network = chosen.fit(X, y, sample_weight=weights).map_network_
    np.testing.assert_array_equal(network.landmarks_["view0"], X[[20, 4, 7]])
    np.testing.assert_array_equal(network.landmark_indices_, [20, 4, 7])
    with pytest.raises(gl.DataError, match="landmark 3 is a sample of weight 0"):
        clone(chosen).set_params(landmarks=[20, 3]).fit(X, y, sample_weight=weights)


def test_labels_of_every_kind_tell_samples_apart():
    X = gl.Views(np.zeros((4, 2)))
    kinds = [
        np.array([1, 1, 2, 1]),
        np.array(["b", "b", "a", "b"]),
        np.array(["b", "b", -1, "b"], dtype=object),
        np.array([[1, 0], [1, 0], [1, 1], [1, 0]]),
        sparse.csr_array([[1, 0], [1, 0], [1, 1], [1, 0]]),
    ]
    for labels in kinds:
        found = merged_copies(X, labels, None)
        assert sorted(found.weights) == [1.0, 3.0]
        assert found.places[0] == found.places[1] == found.places[3] != found.places[2]
        np.testing.assert_array_equal(sorted(found.rows), [0, 2])


def test_zeros_of_either_sign_are_equal_and_no_weight_is_nothing_to_learn_from():
    X = gl.Views(np.array([[0.0, 1.0], [-0.0, 1.0]]))
    assert merged_copies(X, np.array([0, 0]), None).weights.tolist() == [2.0]
    with pytest.raises(gl.DataError, match="every sample has the weight 0"):
        merged_copies(X, np.array([0, 0]), np.zeros(2))
