"""Out-of-fold scores, and the folds that they need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.heads import SquaredHinge, fit_all_labels, fit_kernel_svms, out_of_fold_scores, stratified_folds
from tests.contracts.samples import generator

WEIGHT = [(1.0, 1.0)]


def alternating(n, c):
    return np.where((np.arange(n)[:, None] + np.arange(c)) % 2 == 0, 1.0, -1.0)


def test_every_sample_is_scored_once_by_what_has_not_seen_it(rng):
    signs = np.where(rng.random((23, 3)) < 0.4, 1.0, -1.0)
    calls = []

    def score(train, test):
        calls.append((train, test))
        return np.repeat(test[:, None], 3, axis=1).astype(float)

    scores = out_of_fold_scores(score, signs, 4, generator())
    np.testing.assert_array_equal(scores, np.repeat(np.arange(23.0)[:, None], 3, axis=1))
    assert len(calls) == 4
    assert sorted(np.concatenate([test for _, test in calls]).tolist()) == list(range(23))
    for train, test in calls:
        assert sorted([*train, *test]) == list(range(23))


def test_labels_that_mean_nothing_do_not_look_learned(rng):
    """With more features than samples a machine fits any labels; on samples it has not seen it must not."""
    phi, signs = rng.normal(size=(60, 200)), alternating(60, 1)

    def fit(rows):
        return fit_all_labels(phi[rows], signs[rows], SquaredHinge(), 10.0, WEIGHT, budget=2**30)

    def score(train, test):
        return fit(train).margins(phi[test])

    fitted = fit(slice(None)).margins(phi)
    assert (np.sign(fitted) == signs).all()
    assert np.mean(np.sign(out_of_fold_scores(score, signs, 5, generator())) == signs) < 0.75


def test_maps_and_kernels_give_the_same_out_of_fold_scores(rng):
    phi = rng.normal(size=(40, 3))
    signs = np.where(phi[:, :1] + 0.5 * rng.normal(size=(40, 1)) > 0, 1.0, -1.0)
    gram = phi @ phi.T

    def on_map(train, test):
        head = fit_kernel_svms(phi[train] @ phi[train].T, signs[train], 1.0, WEIGHT)
        return phi[test] @ (head.coefficients @ phi[train]).T + head.intercepts

    def on_kernel(train, test):
        head = fit_kernel_svms(gram[train][:, train], signs[train], 1.0, WEIGHT)
        return head.margins(gram[test][:, train])

    by_map, by_kernel = (out_of_fold_scores(score, signs, 3, generator()) for score in (on_map, on_kernel))
    np.testing.assert_allclose(by_map, by_kernel, atol=1e-6)


def test_one_positive_has_no_score_of_its_own_and_no_positive_its_constant_answer():
    signs = np.full((12, 3), -1.0)
    signs[5, 0] = signs[2, 2] = signs[9, 2] = 1.0

    def score(train, test):
        return np.where((signs[train] > 0).any(0), 0.25, -1.0) * np.ones((len(test), 3))

    scores = out_of_fold_scores(score, signs, 4, generator())
    assert np.isnan(scores[5, 0])
    assert np.isnan(scores[:, 0]).sum() == 3  # its whole fold
    assert (scores[:, 1] == -1.0).all()
    assert (scores[:, 2] == 0.25).all()


@st.composite
def labels(draw):
    n, c = draw(st.integers(2, 40)), draw(st.integers(1, 6))
    return np.where(draw(arrays(np.bool_, (n, c))), 1.0, -1.0), draw(st.integers(2, n))


@given(case=labels(), seed=st.integers(0, 100))
def test_folds_are_never_empty_and_the_rarest_label_is_spread_evenly(case, seed):
    signs, n_folds = case
    folds = stratified_folds(signs, n_folds, generator(seed))
    assert set(folds.tolist()) == set(range(n_folds))
    minority = np.where((signs > 0).mean(0) <= 0.5, signs > 0, signs < 0)
    counts = np.where(minority.any(0), minority.sum(0), len(signs) + 1)
    rarest = counts.argmin()
    if counts[rarest] <= len(signs):
        spread = np.bincount(folds[minority[:, rarest]], minlength=n_folds)
        assert np.ptp(spread) <= 1


def test_rare_keywords_keep_positives_to_learn_from(rng):
    """Like keywords of pictures: 60 labels, most of them rare, three or four per sample."""
    rates = np.geomspace(0.3, 0.004, 60)
    signs = np.where(rng.random((600, 60)) < rates, 1.0, -1.0)
    folds = stratified_folds(signs, 5, generator())
    assert np.ptp(np.bincount(folds)) <= 0.2 * 120
    per_fold = np.array([(signs[folds == f] > 0).sum(0) for f in range(5)])
    several = per_fold.sum(0) >= 2
    assert several.sum() > 50
    assert (per_fold.max(0) < per_fold.sum(0))[several].all()
    blind = np.array([(signs[rng.permutation(600)[:120]] > 0).sum(0) for _ in range(5)])
    assert np.ptp(per_fold, axis=0).mean() < 0.5 * np.ptp(blind, axis=0).mean()


def test_classes_are_stratified_too():
    classes = np.repeat([0, 1, 2], [50, 30, 10])
    folds = stratified_folds(np.where(classes[:, None] == np.arange(3), 1.0, -1.0), 5, generator())
    for label, expected in enumerate((10, 6, 2)):
        np.testing.assert_array_equal(np.bincount(folds[classes == label]), [expected] * 5)


@pytest.mark.parametrize("seed", range(5))
def test_of_a_label_that_most_samples_have_those_without_are_spread(seed):
    row = np.arange(20)
    signs = np.column_stack([np.where(row < 4, -1.0, 1.0), np.where(row < 10, 1.0, -1.0)])
    folds = stratified_folds(signs, 4, generator(seed))
    np.testing.assert_array_equal(np.bincount(folds[:4], minlength=4), 1)


def test_folds_depend_on_the_generator_alone(rng):
    signs = alternating(30, 2)
    np.testing.assert_array_equal(stratified_folds(signs, 3, generator()), stratified_folds(signs, 3, generator()))
    assert not np.array_equal(stratified_folds(signs, 3, generator()), stratified_folds(signs, 3, generator(1)))


@pytest.mark.parametrize("n_folds", [0, 1, 5])
def test_a_number_of_folds_that_cannot_be_is_refused(n_folds):
    with pytest.raises(ValueError, match=f"4 samples can be cut into 2 to 4 folds, not {n_folds}"):
        stratified_folds(alternating(4, 1), n_folds, generator())
