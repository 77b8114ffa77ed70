"""Five keywords per test picture: by score, by gain, and how they are judged."""

import numpy as np
import pytest

from reproduction.collection import Collection
from reproduction.keywords import best_scored, example_rows, judged, most_gained
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
