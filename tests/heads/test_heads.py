"""Labels to signs and back, and one SVM per label, against scikit-learn's own."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

import gramless as gl
from gramless.heads import Labels, SquaredHinge, fit_all_labels, fit_kernel_svms


def counted(signs):
    """How many positives every label has, of how many samples."""
    return (signs > 0).sum(0), len(signs)


@pytest.fixture
def samples(rng):
    X = rng.normal(size=(60, 5))
    Y = (X[:, :3] + 0.5 * rng.normal(size=(60, 3)) > 0).astype(int)
    return X, Y


def test_kernel_machines_are_scikit_learns(samples):
    X, Y = samples
    labels, signs = Labels.of(Y)
    head = fit_kernel_svms(X @ X.T, signs, 2.0, labels.weights(*counted(signs), "balanced"))
    for label in range(3):
        machine = SVC(kernel="linear", C=2.0, class_weight="balanced").fit(X, Y[:, label])
        expected = machine.decision_function(X)
        np.testing.assert_allclose(head.margins(X @ X.T)[:, label], expected, atol=2e-3 * np.abs(expected).max())


def test_a_label_without_positives_or_without_negatives_gets_its_constant_answer(samples):
    X, Y = samples
    Y = np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int)])
    labels, signs = Labels.of(Y)
    weights = labels.weights(*counted(signs), "balanced")
    for head, features in (
        (fit_all_labels(X, signs, SquaredHinge(), 1.0, weights, budget=2**30), X),
        (fit_kernel_svms(X @ X.T, signs, 1.0, weights), X @ X.T),
    ):
        predicted = labels.decide(head.margins(features))
        assert not predicted[:, 1].any()
        assert predicted[:, 2].all()


def test_signs_of_two_classes_of_many_and_of_several_labels():
    labels, signs = Labels.of(np.array(["b", "a", "b"]))
    np.testing.assert_array_equal(signs, [[1], [-1], [1]])
    np.testing.assert_array_equal(labels.decide(np.array([[0.3], [-2.0]])), ["b", "a"])
    assert labels.scores(signs).shape == (3,)

    labels, signs = Labels.of(np.array([7, -1, 3]))
    np.testing.assert_array_equal(signs, [[-1, -1, 1], [1, -1, -1], [-1, 1, -1]])
    np.testing.assert_array_equal(labels.decide(np.array([[0.1, -1.0, 0.0]])), [-1])

    indicator = np.array([[1, 0], [0, 1], [1, 1]])
    for y in (indicator, sparse.csr_array(indicator), indicator.astype(bool)):
        labels, signs = Labels.of(y)
        np.testing.assert_array_equal(signs, 2 * indicator - 1)
        np.testing.assert_array_equal(labels.decide(signs), indicator)


def test_weights_follow_scikit_learns_convention():
    labels, signs = Labels.of(np.array([0, 0, 0, 1]))
    assert labels.weights(*counted(signs), None) == [(1.0, 1.0)]
    assert labels.weights(*counted(signs), {1: 5.0}) == [(1.0, 5.0)]
    assert labels.weights(*counted(signs), {0: 3.0}) == [(3.0, 1.0)]
    assert labels.weights(*counted(signs), "balanced") == [(4 / 6, 4 / 2)]
    labels, signs = Labels.of(np.array([0, 1, 2]))
    assert labels.weights(*counted(signs), {2: 9.0}) == [(1.0, 1.0), (1.0, 1.0), (1.0, 9.0)]
    with pytest.raises(ValueError, match=r"names \[5\]"):
        labels.weights(*counted(signs), {5: 1.0})
    with pytest.raises(ValueError, match="'balanced'"):
        labels.weights(*counted(signs), "fair")


def test_one_class_is_an_error_that_says_so():
    with pytest.raises(gl.DataError, match=r"one class only, 2, among the labels of all samples \(3\)"):
        Labels.of(np.array([2, 2, 2]))
