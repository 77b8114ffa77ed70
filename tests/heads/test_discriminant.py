"""Discriminant analysis of scores: against scikit-learn's, as part of a head, and only where it is ahead."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gramless.errors import DataError
from gramless.estimators.head_settings import AUTOMATIC
from gramless.heads import Contest, Head
from gramless.heads.choosing import choose, chosen_ridge
from gramless.heads.discriminant import Discriminant, discriminated_by_folds


def scores_of(rng, n=300, n_classes=4, apart=1.5):
    """Scores around a mean for every class, unequally many of each, and which class each is of."""
    truth = rng.choice(n_classes, p=np.arange(1, n_classes + 1) / (n_classes * (n_classes + 1) / 2), size=n)
    means = apart * rng.normal(size=(n_classes, n_classes))
    mixed = np.eye(n_classes) + 0.2 * rng.normal(size=(n_classes, n_classes))
    return means[truth] + rng.normal(size=(n, n_classes)) @ mixed, truth


def contest(vectors, truth, n_classes, weights=None):
    signs = np.where(truth[:, None] == np.arange(n_classes), 1.0, -1.0)
    weights = np.ones(len(truth)) if weights is None else weights
    return Contest(vectors, signs, weights, False, lambda *_: pytest.fail("no head is fitted"), 0)


def on_a_line(rng, n=120):
    """Three classes side by side, and linear regressions of them: that of the one in the middle is about constant."""
    truth = np.arange(n) % 3
    vectors = (truth + 0.15 * rng.normal(size=n))[:, None]
    problem = contest(vectors, truth, 3)
    return problem, chosen_ridge(vectors, problem.signs).scores, truth


def without_what_is_common(scores):
    return scores - scores.mean(1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_log_posteriors_are_scikit_learns(rng, n_classes):
    scores, truth = scores_of(rng, n_classes=n_classes)
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(scores, truth)
    found = Discriminant.learn(scores, truth, np.full(len(truth), 3.0)).of(scores)
    np.testing.assert_allclose(  # the shrinkage is 1e-6
        without_what_is_common(found), without_what_is_common(oracle.predict_log_proba(scores)), rtol=1e-4, atol=1e-3
    )


def test_a_weight_is_a_number_of_copies(rng):
    scores, truth = scores_of(rng)
    times = rng.integers(1, 4, size=300)
    weighted = Discriminant.learn(scores, truth, times.astype(float))
    copied = Discriminant.learn(scores.repeat(times, axis=0), truth.repeat(times), np.ones(times.sum()))
    np.testing.assert_allclose(weighted.directions, copied.directions, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.offsets, copied.offsets, rtol=1e-9, atol=1e-9)
    assert np.abs(weighted.directions - Discriminant.learn(scores, truth, np.ones(300)).directions).max() > 0.01


def test_folded_into_a_head_it_gives_the_same_answers(rng):
    features, head = rng.normal(size=(50, 6)), Head(rng.normal(size=(4, 6)), rng.normal(size=4), 7)
    discriminant = Discriminant.learn(*scores_of(rng), np.ones(300))
    folded = discriminant.folded_into(head)
    np.testing.assert_allclose(folded.margins(features), discriminant.of(head.margins(features)), rtol=1e-9, atol=1e-9)
    assert folded.n_iter == 7
    assert (
        discriminant.folded_into(Head(np.ones((4, 6), np.float32), np.ones(4, np.float32), 1))
        .margins(features.astype(np.float32))
        .dtype
        == np.float32
    )


def test_a_class_between_others_is_found(rng):
    problem, scores, truth = on_a_line(rng)
    assert (scores.argmax(1) == truth).mean() < 0.8
    chosen = choose(problem, AUTOMATIC, None)
    assert chosen.head == "discriminant"
    assert (chosen.scores.argmax(1) == truth).mean() > 0.97
    of_ridge = choose(problem, ("ridge",), chosen.C).scores
    assert (chosen.discriminant.of(of_ridge).argmax(1) == truth).mean() > 0.97
    assert {point.head for point in chosen.curve} == {"ridge", "discriminant"}


def test_scores_that_sum_to_a_constant_leave_no_large_numbers(rng):
    """As those of ridge regressions do: there is no variance that way, and float32 could not hold its inverse."""
    _, scores, truth = on_a_line(rng)
    np.testing.assert_allclose(scores.sum(1), -1.0, atol=1e-9)
    assert np.abs(Discriminant.learn(scores, truth, np.ones(len(truth))).directions).max() < 1e5


def test_scores_by_folds_are_of_other_folds(rng):
    """On labels that are noise, with many classes to fit it with: no better than a guess."""
    truth, scores = np.arange(1_200) % 12, rng.normal(size=(1_200, 12))
    found = discriminated_by_folds(scores, truth, np.ones(1_200), np.arange(1_200) // 12 % 5)
    assert (found.argmax(1) == truth).mean() < 1 / 12 + 4 * np.sqrt(11 / 144 / 1_200)
    scores[7] += 1e3  # what it is learned from is not itself
    alone = Discriminant.learn(scores[12:60], truth[12:60], np.ones(48))
    both = discriminated_by_folds(scores[:60], truth[:60], np.ones(60), np.arange(60) >= 12)
    np.testing.assert_allclose(both[:12], alone.of(scores[:12]))


def test_where_the_highest_score_is_right_it_stays(rng):
    X, y = load_digits(return_X_y=True)
    problem = contest(X[:300] / 16.0, y[:300], 10)
    problem = replace(problem, fit=lambda *_: Head(np.zeros((10, 64)), np.zeros(10), 1))
    assert choose(problem, AUTOMATIC, None).head == "ridge"


@pytest.mark.parametrize("alone", [1, 0])
def test_classes_that_a_fold_would_lack_are_left_to_their_scores(rng, alone):
    problem, _, truth = on_a_line(rng)
    rows = np.sort(np.append(np.flatnonzero(truth != 1), np.flatnonzero(truth == 1)[:alone]))
    without = contest(problem.vectors[rows], truth[rows], 3)
    assert choose(without, AUTOMATIC[:2], None).head == "ridge"
    with pytest.raises(DataError, match="three classes or more together, and two samples of each"):
        choose(without, ("discriminant",), 1.0)


def test_two_classes_and_several_labels_have_none(rng):
    problem, _, _ = on_a_line(rng)
    for other in (replace(problem, multilabel=True), replace(problem, signs=problem.signs[:, 1:2])):
        with pytest.raises(DataError, match="three classes or more"):
            choose(other, ("discriminant",), None)


@given(
    n=st.integers(2, 30),
    n_classes=st.integers(3, 6),
    seed=st.integers(0, 99),
    scale=st.sampled_from([0.0, 1e-200, 1e-20, 1.0, 1e20, 1e100]),
)
def test_any_finite_scores_give_finite_answers_or_none(n, n_classes, seed, scale):
    rng = np.random.default_rng(seed)
    scores, truth = scale * rng.integers(-1, 2, size=(n, n_classes)), rng.integers(n_classes, size=n)
    found = discriminated_by_folds(scores, truth, np.ones(n), np.arange(n) % 5)
    assert found is None or np.isfinite(found).all()


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="directions of a discriminant"):
        Discriminant(np.ones((2, 3)), np.ones(3))
    with pytest.raises(DataError, match="offsets of a discriminant"):
        Discriminant(np.ones((3, 3)), np.array([0.0, np.nan, 0.0]))
