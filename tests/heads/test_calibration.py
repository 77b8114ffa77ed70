"""Calibration of labels against each other, and the out-of-fold scores that it is learned on."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.errors import DataError
from gramless.heads import Calibration, fit_kernel_svms, fit_linear_svms, out_of_fold_scores, stratified_folds

WEIGHT = [(1.0, 1.0)]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def alternating(n, c):
    return np.where((np.arange(n)[:, None] + np.arange(c)) % 2 == 0, 1.0, -1.0)


def tables():
    cells = st.integers(-1000, 1000).map(lambda i: i / 100)
    return arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 4)), elements=cells)


def test_full_strength_standardises_and_none_leaves_the_scores(rng):
    scores = rng.normal(size=(200, 3)) * [0.1, 1.0, 7.0] + [-1.0, 0.0, 30.0]
    full = Calibration.learn(scores, alternating(200, 3))
    np.testing.assert_allclose(full.apply(scores).mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(full.apply(scores).std(0), 1.0)
    np.testing.assert_array_equal(Calibration.learn(scores, alternating(200, 3), 0.0).apply(scores), scores)


@given(scores=tables(), strength=st.floats(0, 1))
def test_within_a_label_nothing_changes_places(scores, strength):
    found = Calibration.learn(scores, alternating(*scores.shape), strength).apply(scores)
    assert np.isfinite(found).all()
    for raw, calibrated in zip(scores.T, found.T, strict=True):
        assert (np.diff(calibrated[np.argsort(raw, kind="stable")]) >= 0).all()


@given(scores=tables(), strength=st.floats(0, 1), unit=st.sampled_from([0.125, 4.0, 1024.0]))
def test_the_unit_of_all_scores_changes_no_ranking(scores, strength, unit):
    signs = alternating(*scores.shape)
    here = Calibration.learn(scores, signs, strength).apply(scores)
    there = Calibration.learn(unit * scores, signs, strength).apply(unit * scores)
    spread = np.ptp(scores, axis=0)
    if (spread > 0).all():
        np.testing.assert_allclose(there, here * unit ** (1 - strength), rtol=1e-9, atol=1e-9)


def test_a_label_with_high_scores_no_longer_wins_every_sample(rng):
    """Label 1 is rare: its scores are low and narrow, though its own samples stand out among them."""
    signs = np.where(rng.random((300, 2)) < [0.5, 0.05], 1.0, -1.0)
    scores = np.column_stack([signs[:, 0] + 0.1 * rng.normal(size=300), -1 + 0.2 * (signs[:, 1] > 0)])
    rare = signs[:, 1] > 0
    assert scores[rare & (signs[:, 0] > 0)].argmax(1).max() == 0
    calibrated = Calibration.learn(scores, signs).apply(scores)
    assert (calibrated[rare].argmax(1) == 1).all()
    assert calibrated[~rare & (signs[:, 0] > 0)].argmax(1).max() == 0


def test_scores_that_are_missing_are_left_out(rng):
    scores = rng.normal(size=(50, 2))
    holes = scores.copy()
    holes[40:, 1] = np.nan
    found = Calibration.learn(holes, alternating(50, 2))
    assert found.shift[1] == pytest.approx(scores[:40, 1].mean())
    assert found.scale[1] == pytest.approx(scores[:40, 1].std())
    nothing = Calibration.learn(np.full((4, 1), np.nan), alternating(4, 1))
    assert np.isfinite(nothing.apply(np.zeros((1, 1)))).all()


def test_a_label_of_constant_scores_stays_in_the_middle_and_rounding_is_not_blown_up(rng):
    scores = np.column_stack([rng.normal(size=50), np.full(50, 0.3) + 1e-12 * rng.normal(size=50)])
    calibrated = Calibration.learn(scores, alternating(50, 2)).apply(scores)
    np.testing.assert_allclose(calibrated[:, 1], 0.0, atol=1e-9)
    alone = Calibration.learn(np.full((5, 2), 0.3), alternating(5, 2)).apply(np.full((5, 2), 0.3))
    np.testing.assert_array_equal(alone, np.zeros((5, 2)))


def test_a_label_never_seen_comes_last_and_one_never_missing_first(rng):
    scores = np.column_stack([np.full(60, -1.0), 0.3 * rng.normal(size=(60, 2)) - 0.9, np.full(60, 1.0)])
    signs = np.column_stack([np.full(60, -1.0), alternating(60, 2), np.full(60, 1.0)])
    calibrated = Calibration.learn(scores, signs).apply(scores)
    assert (calibrated.argmin(1) == 0).all()
    assert (calibrated.argmax(1) == 3).all()


def test_what_cannot_be_is_refused(rng):
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        Calibration(np.zeros(2), np.ones(2), 1.5)
    with pytest.raises(DataError, match="scores of 3 labels came, but 2 are calibrated"):
        Calibration(np.zeros(2), np.ones(2)).apply(np.zeros((4, 3)))
    with pytest.raises(DataError, match="do not belong to signs"):
        Calibration.learn(np.zeros((4, 3)), np.ones((4, 2)))


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

    def score(train, test):
        return fit_linear_svms(phi[train], signs[train], 10.0, "squared_hinge", WEIGHT, 10_000, 0).margins(phi[test])

    fitted = fit_linear_svms(phi, signs, 10.0, "squared_hinge", WEIGHT, 10_000, 0).margins(phi)
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
