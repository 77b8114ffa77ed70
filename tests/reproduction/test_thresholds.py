"""Learned thresholds against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.errors import DataError
from reproduction.thresholds import learned_threshold
from tests.oracles import heads as oracle

few_values = st.integers(-3, 3).map(float)  # so that ties are common
any_values = st.floats(-1e6, 1e6, width=32).map(float)


def column(values):
    return arrays(np.float64, st.integers(1, 15), elements=values)


@given(scores=column(few_values | any_values), data=st.data())
def test_no_threshold_has_a_better_f1(scores, data):
    sign = np.where(data.draw(arrays(np.bool_, len(scores))), 1.0, -1.0)
    learned = learned_threshold(scores[:, None], sign[:, None], least_f1=0.0)
    if (sign > 0).any():
        found = oracle.f1(scores, sign, learned.thresholds[0])
        assert found == pytest.approx(oracle.best_f1(scores, sign), abs=1e-12)
        assert found > 0
    else:
        assert learned.thresholds[0] == 0.0


def test_the_highest_of_equally_good_thresholds_lies_between_two_scores():
    scores = np.array([3.0, 2.0, 1.0, 0.0])[:, None]
    assert learned_threshold(scores, np.array([[1], [-1], [-1], [-1]])).thresholds[0] == 2.5
    assert learned_threshold(scores, np.array([[1], [1], [1], [-1]])).thresholds[0] == 0.5
    everything = learned_threshold(scores, np.array([[1], [1], [1], [1]]))
    assert everything.decide(scores).all()
    assert not everything.decide(np.array([[-1e-3]])).any()


def test_equal_scores_are_given_or_refused_together():
    scores = np.array([1.0, 1.0, 1.0, 0.0])[:, None]
    learned = learned_threshold(scores, np.array([[1], [1], [-1], [-1]]))
    np.testing.assert_array_equal(learned.decide(scores)[:, 0], [True, True, True, False])


def test_neighbouring_numbers_can_be_told_apart():
    low = 1.0
    for _ in range(4):
        high = float(np.nextafter(low, 2.0))
        scores = np.array([[high], [low]])
        learned = learned_threshold(scores, np.array([[1], [-1]]))
        np.testing.assert_array_equal(learned.decide(scores), [[True], [False]])
        low = high


def test_a_label_that_was_not_learned_is_not_given_to_everyone(rng):
    """Three positives among 400 with the lowest scores: the best F1, 2 %, would say yes to all."""
    scores = rng.normal(size=(400, 1))
    sign = np.where(scores <= np.sort(scores, axis=0)[2], 1, -1)
    assert learned_threshold(scores, sign, least_f1=0.0).decide(scores).all()
    careful = learned_threshold(scores, sign)
    assert not careful.decide(scores).any()
    assert careful.decide(scores + 10.0).any()


def test_missing_scores_do_not_count():
    scores = np.array([[np.nan], [2.0], [1.0], [np.nan]])
    assert learned_threshold(scores, np.array([[1], [1], [-1], [1]])).thresholds[0] == 1.5
    assert learned_threshold(scores, np.array([[1], [-1], [-1], [-1]])).thresholds[0] == 0.0


def test_scores_and_signs_must_belong_together():
    with pytest.raises(DataError, match="do not belong to signs"):
        learned_threshold(np.zeros((3, 2)), np.ones((3, 1)))
