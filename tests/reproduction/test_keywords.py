"""Classifiers of all keywords, and which five keywords a test picture gets."""

import numpy as np
import pytest
import torch
from sklearn.svm import SVC, LinearSVC

from reproduction import keywords
from reproduction.collection import Collection
from reproduction.keywords import (
    KERNEL_C,
    MAP_C,
    balanced_on_kernel,
    balanced_on_map,
    best_scored,
    example_rows,
    hinge_on_kernel,
    judged,
    most_gained,
    squared_hinge_on_map,
)
from tests.reproduction.samples import small_collection


def knowing(labels, noise=0.3):
    """Scores that know the truth, but for noise."""
    rng = np.random.default_rng(1)
    scores = labels + noise * rng.normal(size=labels.shape)
    return lambda fitted, asked: scores[asked]


def test_the_best_scored_are_the_five_largest():
    pictures = small_collection(n_keywords=9)
    scores = knowing(pictures.labels)
    chosen = best_scored(scores, pictures)
    for given, row in zip(chosen, scores(pictures.train, pictures.test), strict=True):
        assert set(np.flatnonzero(given)) == set(np.argsort(-row)[:5])


def test_gains_give_five_and_find_what_can_be_known():
    pictures = small_collection(n_keywords=9)
    chosen = most_gained(knowing(pictures.labels), pictures, 0)
    assert (chosen.sum(1) == 5).all()
    assert judged(chosen, pictures)["R"] > 90


def test_gains_do_not_depend_on_the_truth_of_test_pictures():
    pictures = small_collection(n_keywords=9)
    labels = pictures.labels.copy()
    labels[60:] = 0
    blind = Collection(pictures.views, labels, 60, pictures.keywords, pictures.names)
    scores = knowing(pictures.labels)
    np.testing.assert_array_equal(most_gained(scores, pictures, 0), most_gained(scores, blind, 0))


def test_gains_are_in_the_units_of_the_scores_that_are_to_be_judged():
    """Scores on vectors that keywords have shaped are larger than those that gains are learned from."""
    pictures = small_collection(n_keywords=9)
    unshaped = knowing(pictures.labels)
    expected = most_gained(unshaped, pictures, 0)
    rng = np.random.default_rng(2)
    size, shift = 2.0 ** rng.integers(-3, 4, size=9), rng.normal(size=9)
    chosen = most_gained(lambda *rows: size * unshaped(*rows) + shift, pictures, 0, unshaped)
    np.testing.assert_array_equal(chosen, expected)


def test_gains_are_learned_from_pictures_that_their_classifiers_have_not_seen():
    pictures = small_collection(n_keywords=9)
    scores, calls = knowing(pictures.labels), []

    def watched(fitted, asked):
        calls.append((set(fitted), set(asked)))
        return scores(fitted, asked)

    most_gained(watched, pictures, 0)
    *folds, (fitted, asked) = calls
    assert all(not seen & judged_by for seen, judged_by in folds)
    assert sorted(row for _, rows in folds for row in rows) == list(range(60))
    assert all(len(seen) + len(rows) == 60 for seen, rows in folds)
    assert (fitted, asked) == (set(range(60)), set(range(60, 90)))


def test_measures_are_means_over_keywords():
    pictures = small_collection()
    truth = pictures.labels[60:] > 0
    chosen = truth.copy()
    chosen[:, 0] = False  # never given: recall and precision 0 of one of seven keywords
    figures = judged(chosen, pictures)
    assert figures["R"] == figures["P"] == pytest.approx(100 * 6 / 7)
    assert figures["N+"] == 6
    assert figures["examples"]["0"] == [f"word{j}" for j in np.flatnonzero(chosen[0])]
    assert len(figures["examples"]) == 12


@pytest.mark.parametrize(("n", "rows"), [(3, [0, 1, 2]), (24, list(range(0, 24, 2)))])
def test_examples_are_spread(n, rows):
    assert example_rows(n) == rows


FITTED, ASKED = np.arange(5, 60), np.arange(60, 90)


@pytest.fixture
def pictures():
    return small_collection(n_keywords=12)


@pytest.fixture
def phi(pictures):
    return np.hstack([pictures.views[name] for name in pictures.views.names])


def linear_machine(C, phi, has, asked):
    return LinearSVC(C=C, dual=False, tol=1e-10, max_iter=100_000).fit(phi, has).decision_function(asked)


def kernel_machine(C, gram, has, asked):
    return SVC(kernel="precomputed", C=C, tol=1e-8).fit(gram, has).decision_function(asked)


def balanced_rows(labels, seed):
    """Per keyword the rows of each of ten rounds: all that have it, and as many, drawn, that do not."""
    generator = torch.Generator().manual_seed(seed)
    for has in labels.T > 0:
        n_rounds = 10 if (~has).sum() > has.sum() else 1  # where all are drawn, rounds are the same
        drawn = [torch.randperm((~has).sum(), generator=generator)[: has.sum()] for _ in range(n_rounds)]
        yield [np.concatenate([np.flatnonzero(has), np.flatnonzero(~has)[rows]]) for rows in drawn]


def test_squared_hinge_is_liblinear(pictures, phi):
    scores = squared_hinge_on_map(phi, pictures.labels)(FITTED, ASKED)
    for found, has in zip(scores.T, pictures.labels[FITTED].T, strict=True):
        np.testing.assert_allclose(found, linear_machine(MAP_C, phi[FITTED], has, phi[ASKED]), atol=2e-3)


@pytest.mark.parametrize(("gap", "tolerance"), [(None, 0.03), (1e-6, 1e-4)], ids=["as it is used", "solved further"])
def test_hinge_is_libsvm(pictures, phi, monkeypatch, gap, tolerance):
    if gap is not None:
        monkeypatch.setattr(keywords, "KERNEL_GAP", gap)
    gram = phi @ phi.T
    scores = hinge_on_kernel(torch.from_numpy(gram), pictures.labels)(FITTED, ASKED)
    known, asked = gram[np.ix_(FITTED, FITTED)].astype(float), gram[np.ix_(ASKED, FITTED)]
    for found, has in zip(scores.T, pictures.labels[FITTED].T, strict=True):
        np.testing.assert_allclose(found, kernel_machine(KERNEL_C, known, has, asked), atol=tolerance)


@pytest.mark.parametrize("on", ["map", "kernel"])
def test_ensembles_are_means_of_balanced_machines(pictures, phi, on):
    labels = pictures.labels.copy()
    labels[:, 0] = 1 - labels[:, 0]  # one keyword that most pictures have
    gram = phi.astype(float) @ phi.T
    if on == "map":
        scores = balanced_on_map(phi, labels, 3)(FITTED, ASKED)
    else:
        scores = balanced_on_kernel(torch.from_numpy(gram), labels, 3)(FITTED, ASKED)
    for found, has, rounds in zip(scores.T, labels[FITTED].T, balanced_rows(labels[FITTED], 3), strict=True):
        each = []
        for rows in rounds:
            known = FITTED[rows]
            if on == "map":
                each.append(linear_machine(1.0, phi[known], has[rows], phi[ASKED]))
            else:
                each.append(kernel_machine(1.0, gram[np.ix_(known, known)], has[rows], gram[np.ix_(ASKED, known)]))
        np.testing.assert_allclose(found, np.mean(each, axis=0), atol=3e-3)


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
