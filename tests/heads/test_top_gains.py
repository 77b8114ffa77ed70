"""The k labels with the largest gains: against differences of F, all answers of small problems, and bad input."""

import warnings
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.errors import DataError
from gramless.heads import TopGains, TopK, top_gains
from gramless.metrics import annotation_scores


def f_beta(recall, precision, beta):
    return (1 + beta**2) * recall * precision / (beta**2 * precision + recall)


def expected_f(p, n_with, chosen, beta):
    """The F of mean recall and mean precision that an answer (n, n_labels) is expected to have, label by label."""
    recalls, precisions = [], []
    for column, wanted, answers in zip(p.T, n_with, chosen.T, strict=True):
        right = sum(number for number, yes in zip(column, answers, strict=True) if yes)
        recalls.append(right / wanted)
        precisions.append(right / (sum(answers) + top_gains.DOUBTS))
    return f_beta(np.mean(recalls), np.mean(precisions), beta)


def skewed(rng, n=600, n_labels=30):
    """Labels from frequent to rare, calibrated probabilities of them, and signs drawn from these."""
    usual = np.geomspace(0.4, 0.005, n_labels)
    p = rng.beta(0.3 * usual, 0.3 * (1 - usual), (n, n_labels))
    signs = np.where(rng.random(p.shape) < p, 1.0, -1.0)
    signs[np.arange(n_labels), np.arange(n_labels)] = 1.0  # every label occurs
    return p, signs


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("recall", "precision"), [(0.2, 0.7), (0.5, 0.5), (0.9, 0.05), (1.0, 1.0)])
def test_slopes_are_differences_of_f(recall, precision, beta):
    step = 1e-6
    by_recall = (f_beta(recall + step, precision, beta) - f_beta(recall - step, precision, beta)) / (2 * step)
    by_precision = (f_beta(recall, precision + step, beta) - f_beta(recall, precision - step, beta)) / (2 * step)
    np.testing.assert_allclose(top_gains.f_slopes(recall, precision, beta), (by_recall, by_precision), rtol=1e-6)


@pytest.mark.parametrize("beta", [0.7, 1.5])
def test_gains_are_what_one_more_answer_adds_to_f(rng, beta):
    """To first order, and one answer of many changes little."""
    p, signs = skewed(rng, n=4000, n_labels=6)
    n_with = (signs > 0).sum(0)
    found = TopGains.learn(p, signs, 2, beta)
    chosen = found.decide(p)
    here = expected_f(p, n_with, chosen, beta)
    gains = found.gains(p)
    added, predicted = [], []
    for row, label in zip(rng.integers(0, len(p), 200), rng.integers(0, 6, 200), strict=True):
        if not chosen[row, label]:
            more = chosen.copy()
            more[row, label] = True
            added.append(expected_f(p, n_with, more, beta) - here)
            predicted.append(gains[row, label] / 6)  # F is of means over six labels
    np.testing.assert_allclose(predicted, added, atol=0.1 * np.ptp(added))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_on_small_problems_hardly_any_answer_is_better(k, beta):
    """All answers of six samples with four labels, k each."""
    shares = []
    answers = np.array([np.isin(np.arange(4), chosen) for chosen in combinations(range(4), k)])
    every = answers[np.array(list(product(range(len(answers)), repeat=6)))]  # (n_answers, 6, 4)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5, 1.0, (6, 4))
        signs = np.where(rng.random((6, 4)) < p, 1.0, -1.0)
        signs[:4][np.eye(4, dtype=bool)] = 1.0
        n_with = (signs > 0).sum(0)
        right = (every * p).sum(1)
        precision = right / (every.sum(1) + top_gains.DOUBTS)
        best = f_beta((right / n_with).mean(1), precision.mean(1), beta).max()
        found = expected_f(p, n_with, TopGains.learn(p, signs, k, beta).decide(p), beta)
        assert found <= best * (1 + 1e-12)
        shares.append(found / best)
    assert np.mean(shares) > 0.985
    assert min(shares) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_finds_more_labels_than_the_most_probable_ones_do(seed):
    p, signs = skewed(np.random.default_rng(seed))
    learned, asked = slice(0, 300), slice(300, 600)
    gains = annotation_scores(TopGains.learn(p[learned], signs[learned], 3, 1.0).decide(p[asked]), signs[asked] > 0)
    probable = annotation_scores(TopK(3).decide(p[asked]), signs[asked] > 0)
    assert gains.f1 > 1.05 * probable.f1
    assert gains.n_plus >= probable.n_plus


def test_recall_rises_with_its_weight_and_precision_falls(rng):
    p, signs = skewed(rng, n=2000)
    n_with = (signs > 0).sum(0)
    recalls, precisions = [], []
    for weight in (0.25, 0.5, 1.0, 2.0, 4.0):
        chosen = TopGains.learn(p, signs, 3, weight).decide(p)
        right = (p * chosen).sum(0)
        recalls.append((right / n_with).mean())
        precisions.append((right / (chosen.sum(0) + top_gains.DOUBTS)).mean())
    assert (np.diff(recalls) > -0.005).all()
    assert (np.diff(precisions) < 0.005).all()
    assert recalls[-1] > recalls[0] + 0.02
    assert precisions[0] > precisions[-1] + 0.02


def test_the_order_of_the_labels_does_not_matter(rng):
    p, signs = skewed(rng)
    order = rng.permutation(p.shape[1])
    here, there = TopGains.learn(p, signs, 4, 1.3), TopGains.learn(p[:, order], signs[:, order], 4, 1.3)
    np.testing.assert_allclose(there.slope, here.slope[order])
    np.testing.assert_allclose(there.cost, here.cost[order])


def test_a_label_that_nobody_has_is_never_given(rng):
    p, signs = skewed(rng, n_labels=6)
    p[:, 2] = 1.0
    signs[:, 2] = -1.0
    for k in range(1, 9):
        chosen = TopGains.learn(p, signs, k, 1.0).decide(p)
        assert not chosen[:, 2].any()
        assert (chosen.sum(1) == min(k, 5)).all()


def test_with_k_of_all_labels_every_label_is_given(rng):
    p, signs = skewed(rng, n_labels=4)
    for k in (4, 5, 100):
        assert TopGains.learn(p, signs, k, 1.0).decide(p).all()


def test_where_nobody_has_a_label_nothing_is_given():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not TopGains.learn(np.full((4, 3), 0.5), np.full((4, 3), -1.0), 2, 1.0).decide(np.ones((2, 3))).any()


def test_no_probability_is_as_none_and_is_never_given(rng):
    p, signs = skewed(rng, n_labels=5)
    holes = np.where(rng.random(p.shape) < 0.3, np.nan, p)
    found = TopGains.learn(holes, signs, 5, 1.0)
    expected = TopGains.learn(np.where(np.isnan(holes), 0.0, holes), signs, 5, 1.0)
    np.testing.assert_array_equal(found.slope, expected.slope)
    np.testing.assert_array_equal(found.cost, expected.cost)
    np.testing.assert_array_equal(found.decide(holes), ~np.isnan(holes))


@given(
    p=arrays(
        np.float64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.sampled_from([0.0, 1e-300, 0.5, 1.0])
    ),
    seed=st.integers(0, 100),
    k=st.integers(1, 6),
    weight=st.sampled_from([1e-6, 0.5, 1.0, 3.0, 1e6]),
)
def test_any_input_has_finite_gains_and_k_answers(p, seed, k, weight):
    signs = np.where(np.random.default_rng(seed).random(p.shape) < 0.3, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = TopGains.learn(p, signs, k, weight)
    known = (signs > 0).any(0)
    assert (np.isfinite(found.slope) & (found.slope > 0)).all()
    np.testing.assert_array_equal(np.isfinite(found.cost), known)
    assert (found.decide(p).sum(1) == min(k, known.sum())).all()


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf, np.nan])
def test_a_weight_that_cannot_be_is_refused(rng, weight):
    with pytest.raises(ValueError, match=r"recall_weight=.*give a positive number"):
        TopGains.learn(*skewed(rng), 2, weight)


def test_what_cannot_be_is_refused(rng):
    p, signs = skewed(rng)
    with pytest.raises(ValueError, match="got k=0"):
        TopGains.learn(p, signs, 0, 1.0)
    with pytest.raises(
        DataError, match=r"probabilities of shape \(600, 29\) do not belong to signs of shape \(600, 30\)"
    ):
        TopGains.learn(p[:, 1:], signs, 2, 1.0)
