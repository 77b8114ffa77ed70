"""Other methods, against their formulas written out."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from gramless.views import Views
from reproduction import methods
from tests.reproduction.samples import small_collection


def test_distances_are_means_of_scaled_l1():
    views = small_collection(n=40, n_train=20).views
    blocks = [views[name].astype(float) * size for name, size in zip(views.names, (1.0, 300.0), strict=True)]
    expected = np.zeros((40, 40))
    for block in blocks:
        distances = np.array([[np.abs(x - z).sum() for z in block] for x in block])
        expected += distances / (distances.sum() / (40 * 39)) / len(blocks)  # the mean is that to other pictures
    found = methods.equal_distances(Views({f"view{i}": block for i, block in enumerate(blocks)}))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_distances_of_many_pictures_are_those_of_all_pairs():
    views = small_collection(n=600, n_train=20).views  # more than are compared at once
    x = views["a"].astype(float)
    found = methods.equal_distances(Views({"a": x}))
    expected = cdist(x, x, "cityblock")
    scale = expected[expected > 0.1] / found[expected > 0.1]
    assert scale.std() < 1e-5 * scale.mean()
    assert scale.mean() == pytest.approx(expected.sum() / (600 * 599), rel=0.02)  # estimated from some of the pairs


def test_transfer_keyword_by_keyword():
    pictures = small_collection(n=80, n_train=50, n_keywords=9)
    labels, fitted, asked = pictures.labels, np.arange(3, 50), np.arange(50, 80)
    distances = np.random.default_rng(0).random((80, 80))
    found = methods.label_transfer(distances, labels)(fitted, asked)
    expected = np.zeros((30, 9))
    for i, picture in enumerate(asked):
        nearest, *others = sorted(fitted, key=lambda row: distances[picture, row])[:5]
        for keyword in range(9):
            if labels[nearest, keyword]:
                expected[i, keyword] = 1 + sum(labels[row, keyword] for row in fitted) / 47
                continue
            both = sum(labels[row, keyword] * labels[row, k] for row in fitted for k in range(9) if labels[nearest, k])
            share = sum(labels[row, keyword] for row in others) / 4
            strength = (both / 47 + 1e-6) * share
            expected[i, keyword] = strength / (1 + strength)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_keywords_of_the_nearest_come_first_and_then_those_of_the_others():
    #                 sea sand sky cat
    labels = np.array(
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    )
    distances = np.full((7, 7), 9.0)
    distances[6, :6] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    (row,) = methods.label_transfer(distances, labels)(np.arange(6), np.array([6]))
    assert row.argmax() == 0  # of the nearest
    assert row[1] > row[3] > row[2]  # sand goes with sea more often than cat; sky is of the sixth neighbour
    assert row[0] >= 1 > row[1]
    assert row[2] == 0


def test_keywords_that_go_with_the_nearest_ones_beat_more_frequent_ones():
    #                  sea sand cat; sand occurs with sea outside the five neighbours, cat never does
    labels = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]])
    distances = np.full((8, 8), 9.0)
    distances[7, :7] = np.arange(7)
    (row,) = methods.label_transfer(distances, labels)(np.arange(7), np.array([7]))
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
    vectors = methods.keyword_vectors(labels)
    u, s, _ = np.linalg.svd(expected)
    np.testing.assert_allclose(vectors @ vectors.T, (u[:, :8] * s[:8]) @ u[:, :8].T, atol=1e-8)


def test_keywords_that_nobody_has_have_no_vector_and_score_nothing():
    pictures = small_collection()
    labels = np.c_[pictures.labels, np.zeros((90, 60), dtype=np.int8)]  # many singular values are zero
    assert np.abs(methods.keyword_vectors(labels)[:7]).max() > 0.1
    assert not methods.keyword_vectors(labels)[7:].any()
    found = methods.word_vector_regression(pictures.views["a"], labels)(pictures.train, pictures.test)
    assert np.isfinite(found).all()
    assert not found[:, 7:].any()


def test_regression_to_word_vectors_by_its_formula():
    pictures = small_collection()
    labels, fitted, asked = pictures.labels.copy(), np.arange(2, 60), np.arange(60, 90)
    labels[5] = 0  # a picture without keywords
    x = pictures.views["a"].astype(float) * np.linspace(1, 50, 10)
    x = (x - x[fitted].mean(0)) / x[fitted].std(0)
    vectors = methods.keyword_vectors(labels[fitted])
    targets = np.array([vectors[row > 0].mean(0) if row.any() else np.zeros(6) for row in labels[fitted]])
    known = np.c_[x[fitted], np.ones(58)]
    penalty = np.diag([0.1 * 58] * 10 + [0.0])  # none on the intercept
    weights = np.linalg.solve(known.T @ known + penalty, known.T @ targets)
    answers = np.c_[x[asked], np.ones(30)] @ weights
    found = methods.word_vector_regression(pictures.views["a"] * np.linspace(1, 50, 10), labels)(fitted, asked)
    np.testing.assert_allclose(found, 1 - cdist(answers, vectors, "cosine"), atol=1e-6)
    has = labels[asked] > 0
    assert found[has].mean() > found[~has].mean()


def test_a_transductive_map_is_the_kernel_of_a_laplacian_svm():
    pictures = small_collection(n=40, n_train=20)
    x = pictures.views["a"].astype(np.float64)
    gram = np.exp(-cdist(x, x, "sqeuclidean"))
    phi = methods.transductive_map(torch.from_numpy(gram), 40)
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
    assert methods.transductive_map(torch.from_numpy(gram), 7).shape == (40, 7)
