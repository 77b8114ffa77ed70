"""Thresholds of labels: against a search over all thresholds, and where there is little to go by."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.heads import f1_thresholds
from gramless.heads.f1_thresholds import DOUBT
from gramless.heads.labelling import learn_labelling


def both_f1(p: np.ndarray, thresholds: np.ndarray) -> float:
    """What is to be expected of all answers, and as a mean over labels, added up label by label."""
    rights, givens, havings = [], [], []
    for column, threshold in zip(p.T.tolist(), thresholds, strict=True):
        rights.append(sum(number for number in column if number > threshold))
        givens.append(sum(number > threshold for number in column))
        havings.append(sum(column))
    recall = np.mean([right / having for right, having in zip(rights, havings, strict=True)])
    precision = np.mean([right / (n + DOUBT * len(p)) for right, n in zip(rights, givens, strict=True)])
    micro = 2 * sum(rights) / (sum(givens) + sum(havings))
    return micro + 2 * recall * precision / (recall + precision)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_thresholds_promise_more(seed):
    """Of three labels, every cut of each: Frank and Wolfe's average may stand between two answers, hence 1 %."""
    rng = np.random.default_rng(seed)
    p = rng.beta([0.5, 0.2, 0.3], [1.0, 2.0, 9.0], size=(60, 3))
    found = both_f1(p, f1_thresholds(p).thresholds)
    cuts = [np.quantile(column, np.linspace(0, 0.99, 25)) for column in p.T]
    best = max(both_f1(p, np.array(cut)) for cut in product(*cuts))
    assert found > 0.99 * best


def test_a_rare_label_has_a_lower_threshold_and_one_label_half_its_f1():
    rng = np.random.default_rng(0)
    p = np.column_stack([rng.beta(0.4, 1.0, 3000), rng.beta(0.1, 5.0, 3000)])
    often, rarely = f1_thresholds(p).thresholds
    assert 0.02 < rarely < often < 0.5
    alone = p[:, :1]
    ordered = np.sort(alone[:, 0])[::-1]
    best = max(2 * ordered[:k].sum() / (k + ordered.sum()) for k in range(1, 3001))
    assert f1_thresholds(alone).thresholds[0] == pytest.approx(best / 2, rel=0.02)


def test_none_where_nothing_is_likely_and_never_what_nobody_may_have():
    rng = np.random.default_rng(0)
    p = np.column_stack([rng.beta(0.4, 1.0, 300), np.zeros(300), np.full(300, np.nan)])
    decision = f1_thresholds(p)
    assert not decision.decide(np.array([[0.05, 0.0, np.nan]])).any()
    assert decision.decide(np.array([[0.9, 1.0, 1.0]])).tolist() == [[True, False, False]]
    assert not f1_thresholds(np.zeros((4, 2))).decide(np.ones((1, 2))).any()


def test_scores_are_answered_as_their_probabilities_are(rng):
    signs = np.where(rng.random((200, 3)) < [0.5, 0.2, 0.05], 1.0, -1.0)
    known, asked = 2.0 * signs + rng.normal(size=signs.shape), rng.normal(size=(500, 3))
    labelling = learn_labelling(known, signs, multilabel=True)
    thresholds = f1_thresholds(labelling.calibration.probabilities(known)).thresholds
    expected = labelling.calibration.probabilities(asked) > thresholds
    np.testing.assert_array_equal(labelling.decide(asked), expected)
    assert expected.any(0).all()


def test_a_weight_is_so_many_copies(rng):
    p, copies = rng.beta(0.3, 1.0, size=(40, 3)), rng.integers(1, 4, size=40)
    found = f1_thresholds(p, copies.astype(float)).thresholds
    np.testing.assert_allclose(found, f1_thresholds(np.repeat(p, copies, axis=0)).thresholds, rtol=1e-12)


@given(p=arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.floats(0, 1)))
def test_thresholds_are_probabilities(p):
    before = p.copy()
    found = f1_thresholds(p).thresholds
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_array_equal(p, before)
