"""Classifiers on rows, against scikit-learn's one keyword at a time."""

import numpy as np
import pytest
import torch
from sklearn.svm import SVC, LinearSVC

from gramless.annotation.fitting import C
from gramless.reproduce.classifiers import (
    balanced_on_kernel,
    balanced_on_map,
    hinge_on_kernel,
    squared_hinge_on_map,
)
from tests.reproduce.samples import small_collection

FITTED, ASKED = np.arange(5, 60), np.arange(60, 90)


@pytest.fixture
def pictures():
    return small_collection(n_keywords=12)


@pytest.fixture
def phi(pictures):
    return np.hstack([pictures.views[name] for name in pictures.views.names])


def test_squared_hinge_is_liblinear(pictures, phi):
    scores = squared_hinge_on_map(phi, pictures.labels)(FITTED, ASKED)
    for j in range(12):
        machine = LinearSVC(C=C, tol=1e-8, max_iter=100_000).fit(phi[FITTED], pictures.labels[FITTED, j])
        np.testing.assert_allclose(scores[:, j], machine.decision_function(phi[ASKED]), atol=5e-3)


def test_hinge_is_libsvm(pictures, phi):
    gram = phi @ phi.T
    scores = hinge_on_kernel(torch.from_numpy(gram), pictures.labels)(FITTED, ASKED)
    for j in range(12):
        machine = SVC(kernel="precomputed", C=C, tol=1e-6).fit(gram[np.ix_(FITTED, FITTED)], pictures.labels[FITTED, j])
        expected = machine.decision_function(gram[np.ix_(ASKED, FITTED)])
        assert np.corrcoef(scores[:, j], expected)[0, 1] > 0.99


def test_ensembles_rank_pictures_with_a_keyword_first(pictures, phi):
    for scores in (
        balanced_on_map(phi, pictures.labels, 0)(FITTED, ASKED),
        balanced_on_kernel(torch.from_numpy(phi @ phi.T), pictures.labels, 0)(FITTED, ASKED),
    ):
        has = pictures.labels[ASKED] > 0
        assert scores.shape == has.shape
        assert scores[has].mean() > scores[~has].mean() + 0.3


def test_labels_of_the_asked_are_not_looked_at(pictures, phi):
    others = pictures.labels.copy()
    others[ASKED] = 1 - others[ASKED]
    gram = torch.from_numpy(phi @ phi.T)
    for make in (
        lambda labels: squared_hinge_on_map(phi, labels),
        lambda labels: balanced_on_map(phi, labels, 0),
        lambda labels: hinge_on_kernel(gram, labels),
        lambda labels: balanced_on_kernel(gram, labels, 0),
    ):
        np.testing.assert_array_equal(make(pictures.labels)(FITTED, ASKED), make(others)(FITTED, ASKED))
