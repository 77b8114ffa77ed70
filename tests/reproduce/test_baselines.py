"""Other methods, against their formulas written out."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from gramless.reproduce import baselines
from tests.reproduce.samples import small_collection


def test_distances_are_means_of_scaled_l1():
    views = small_collection(n=40, n_train=20).views
    found = baselines.equal_distances(views)
    each = [cdist(views[name], views[name], "cityblock") for name in views.names]
    # the scale of a view is the mean distance between samples, up to how pairs are sampled
    ratios = np.array([np.corrcoef(found.ravel(), sum(d / d.mean() for d in each).ravel())[0, 1]])
    assert ratios.min() > 0.999
    assert np.abs(np.diagonal(found)).max() < 1e-5
    assert found.mean() == pytest.approx(1.0, rel=0.1)


def test_keywords_of_the_nearest_come_first_and_then_those_of_the_others():
    #                 sea sand sky cat
    labels = np.array(
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    )
    distances = np.full((7, 7), 9.0)
    distances[6, :6] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    (row,) = baselines.label_transfer(distances, labels)(np.arange(6), np.array([6]))
    assert row.argmax() == 0  # of the nearest
    assert row[1] > row[3] > row[2]  # sand goes with sea more often than cat; sky is of the sixth neighbour
    assert row[0] >= 1 > row[1]
    assert row[2] == 0


def test_keywords_that_go_with_the_nearest_ones_beat_more_frequent_ones():
    #                  sea sand cat; sand occurs with sea outside the five neighbours, cat never does
    labels = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]])
    distances = np.full((8, 8), 9.0)
    distances[7, :7] = np.arange(7)
    (row,) = baselines.label_transfer(distances, labels)(np.arange(7), np.array([7]))
    assert row[0] > row[1] > row[2] > 0


def test_word_vectors_factorise_mutual_information():
    rng = np.random.default_rng(0)
    labels = (rng.random((200, 9)) < 0.3).astype(np.int8)
    labels[:, 1] |= labels[:, 0]
    n = len(labels)
    expected = np.zeros((9, 9))
    for i in range(9):
        for j in range(9):
            both = (labels[:, i] * labels[:, j]).sum() / n
            if both:
                expected[i, j] = max(0.0, np.log(both / (labels[:, i].mean() * labels[:, j].mean())))
    vectors = baselines.word_vectors(labels)
    u, s, _ = np.linalg.svd(expected)
    np.testing.assert_allclose(vectors @ vectors.T, (u[:, :8] * s[:8]) @ u[:, :8].T, atol=1e-8)


def test_keywords_that_nobody_has_have_no_vector_and_no_nan():
    labels = np.zeros((30, 6), dtype=np.int8)
    labels[:, :3] = np.random.default_rng(0).random((30, 3)) < 0.5
    assert np.isfinite(baselines.word_vectors(labels)).all()
    assert np.abs(baselines.word_vectors(labels)[3:]).max() < 1e-10


def test_regression_to_word_vectors_finds_keywords():
    pictures = small_collection()
    scores = baselines.word_vector_regression(pictures.views["a"], pictures.labels)(pictures.train, pictures.test)
    has = pictures.labels[60:] > 0
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= 1 + 1e-9
    assert scores[has].mean() > scores[~has].mean()


def test_a_transductive_map_is_the_kernel_of_a_laplacian_svm():
    pictures = small_collection(n=40, n_train=20)
    x = pictures.views["a"].astype(np.float64)
    gram = np.exp(-cdist(x, x, "sqeuclidean"))
    phi = baselines.transductive_map(torch.from_numpy(gram), 40)
    distances = 2 - 2 * gram
    order = np.argsort(distances + np.eye(40) * 9, axis=1)[:, :10]
    nearest = np.take_along_axis(distances, order, axis=1)
    width = np.sqrt(nearest).mean()
    weights = np.zeros((40, 40))
    np.put_along_axis(weights, order, np.exp(-nearest / width**2), axis=1)
    weights = np.maximum(weights, weights.T)
    roots = 1 / np.sqrt(weights.sum(1))
    laplacian = np.eye(40) - roots[:, None] * weights * roots
    expected = np.linalg.inv(np.linalg.inv(gram) + 0.01 * laplacian)
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-4)
    assert baselines.transductive_map(torch.from_numpy(gram), 7).shape == (40, 7)
