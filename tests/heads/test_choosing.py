"""The choice of loss and C: curves against fits by hand, what wins where, and on hostile samples."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifierCV

from gramless.heads import Contest, Head, SquaredHinge, choose, fit_all_labels
from gramless.heads.choosing import MOST_COMPARED, RIDGES, fit_ridges, n_folds_to_judge
from gramless.heads.judging import judge

ONES = [(1.0, 1.0)]


def contest(vectors, signs, *, weights=None, multilabel=False, fit=None):
    def squared_hinge(head, C, rows):
        assert head == "squared_hinge"
        weighed = None if weights is None else weights[rows]
        sides = ONES * signs.shape[1]
        return fit_all_labels(vectors[rows], signs[rows], SquaredHinge(), C, sides, budget=2**30, sample_weight=weighed)

    given = np.ones(len(signs)) if weights is None else weights
    return Contest(vectors, signs, given, multilabel, fit or squared_hinge, 0)


def noisy_classes(seed, n=90, d=12, n_classes=3, noise=2.0):
    rng = np.random.default_rng(seed)
    centres, y = rng.normal(size=(n_classes, d)), np.arange(n) % n_classes
    vectors = centres[y] + noise * rng.normal(size=(n, d))
    return vectors, np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0), y


def test_ridge_regression_is_scikit_learns_with_its_leave_one_out(rng):
    vectors, signs, y = noisy_classes(0)
    settings = contest(vectors, signs)
    choice = choose(settings, ["ridge"], 0.25)
    expected = RidgeClassifierCV(alphas=[0.5 / 0.25], store_cv_results=True).fit(vectors, y)
    errors = np.square(choice.scores - signs)
    np.testing.assert_allclose(errors, expected.cv_results_[:, :, 0], atol=1e-8)
    head = fit_ridges(settings, 0.25)
    np.testing.assert_allclose(head.margins(vectors), expected.decision_function(vectors), atol=1e-8)


def test_the_best_of_the_path_is_taken_and_all_of_it_is_told():
    vectors, signs, _ = noisy_classes(1)
    choice = choose(contest(vectors, signs), ["ridge"], None)
    assert len(choice.curve) == len(RIDGES)
    assert max(choice.curve, key=lambda point: point.score).C == choice.C
    again = judge(choice.scores, signs, np.ones(len(signs)), multilabel=False)
    assert again.score == max(point.score for point in choice.curve)


def test_units_of_the_vectors_do_not_matter():
    vectors, signs, _ = noisy_classes(2)
    here, there = (choose(contest(scale * vectors, signs), ["ridge"], None) for scale in (1.0, 50.0))
    assert here.head == there.head
    np.testing.assert_allclose(there.C, here.C / 2500)
    np.testing.assert_allclose([p.score for p in there.curve], [p.score for p in here.curve], atol=1e-6)


def test_another_loss_takes_the_place_of_ridge_only_where_it_is_ahead_by_more_than_noise():
    vectors, signs, _ = noisy_classes(3, noise=3.0)

    assert choose(contest(vectors, signs), ["ridge", "squared_hinge"], None).head == "ridge"
    noise = 1e5 * np.random.default_rng(0).normal(size=vectors.shape)
    told = np.column_stack([noise, signs])  # in which ridge regression drowns, and another knows where to look
    knowing = contest(told, signs, fit=lambda head, C, rows: Head(np.eye(3, 15, 12), np.zeros(3), 1))
    assert choose(knowing, ["ridge", "squared_hinge"], None).head == "squared_hinge"


def test_losses_are_compared_on_the_same_folds():
    vectors, signs, _ = noisy_classes(4)

    def like_ridge(head, C, rows):
        return fit_ridges(contest(vectors[rows], signs[rows]), C)

    choice = choose(contest(vectors, signs, fit=like_ridge), ["ridge", "squared_hinge"], 1.0)
    by_folds = {point.head: point.score for point in choice.curve if point.by == "folds"}
    assert by_folds["ridge"] == pytest.approx(by_folds["squared_hinge"], abs=1e-8)
    assert choice.head == "ridge"


@pytest.mark.parametrize(("n", "n_fits"), [(1_000, 2), (500, 15)])
def test_a_loss_that_is_behind_on_one_large_fold_is_fitted_on_no_other(n, n_fits):
    vectors, signs, _ = noisy_classes(5, n=n)
    fitted = []

    def guessing(head, C, rows):
        fitted.append(C)
        return Head(np.eye(3, 12), np.zeros(3), 1)

    choice = choose(contest(vectors, signs, fit=guessing), ["ridge", "squared_hinge"], None)
    assert choice.head == "ridge"
    assert len(fitted) == n_fits  # of two C on one fold, or of three on all five


def test_labels_are_judged_by_both_mean_average_precisions(rng):
    signs = np.where(rng.random((80, 5)) < 0.3, 1.0, -1.0)
    vectors = signs @ rng.normal(size=(5, 8)) + rng.normal(size=(80, 8))
    choice = choose(contest(vectors, signs, multilabel=True), ["ridge", "squared_hinge"], None)
    assert {point.head for point in choice.curve} == {"ridge", "squared_hinge"}
    assert 50 < max(point.score for point in choice.curve) <= 100


def test_of_many_samples_some_are_compared_and_few_folds_fitted(rng):
    vectors, signs, _ = noisy_classes(5, n=2 * MOST_COMPARED + 10, d=3)
    settings = contest(vectors, signs)
    compared = settings.compared()
    assert MOST_COMPARED / 2 < len(compared) <= MOST_COMPARED
    assert n_folds_to_judge(len(compared)) < 5
    assert n_folds_to_judge(63) == 5
    scores = settings.by_folds("squared_hinge", 1.0, compared, 1)
    judged = np.flatnonzero(np.isfinite(scores).all(1))
    assert set(judged) <= set(compared)
    assert 0 < len(judged) < len(compared) / 3


class TestHostile:
    @pytest.mark.parametrize("n_classes", [27, 63])
    def test_classes_with_few_samples_or_one(self, n_classes):
        vectors, signs, _ = noisy_classes(6, n=63, d=80, n_classes=n_classes)
        choice = choose(contest(vectors, signs), ["ridge", "squared_hinge"], None)
        assert np.isfinite(choice.C)
        assert np.isfinite(choice.scores).all()

    def test_two_samples(self):
        vectors, signs = np.array([[0.0], [1.0]]), np.array([[1.0], [-1.0]])
        for heads in (["ridge"], ["ridge", "squared_hinge"], ["squared_hinge"]):
            assert np.isfinite(choose(contest(vectors, signs), heads, None).C)

    def test_labels_that_nobody_has(self, rng):
        vectors = rng.normal(size=(20, 3))
        for signs in (-np.ones((20, 4)), np.column_stack([vectors[:, 0] > 0, np.zeros(20)]) * 2.0 - 1.0):
            choice = choose(contest(vectors, signs, multilabel=True), ["ridge", "squared_hinge"], None)
            assert np.isfinite(choice.scores).all()

    def test_vectors_that_are_all_alike(self):
        _, signs, _ = noisy_classes(7)
        assert choose(contest(np.ones((90, 4)), signs), ["ridge", "squared_hinge"], None).head == "ridge"
