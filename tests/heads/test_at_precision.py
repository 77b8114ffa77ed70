"""The lowest threshold that reaches a precision, against all thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.errors import DataError
from gramless.heads import Threshold

few = arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.integers(0, 4).map(lambda i: i / 4)
)


@given(scores=few, seed=st.integers(0, 99), precision=st.sampled_from([0.2, 0.5, 2 / 3, 0.9, 1.0]))
def test_no_lower_threshold_reaches_it(scores, seed, precision):
    signs = np.where(np.random.default_rng(seed).random(scores.shape) < 0.5, 1.0, -1.0)
    given_by = {t: scores >= t for t in np.unique(scores)}
    reached = [t for t, chosen in given_by.items() if (signs[chosen] > 0).mean() >= precision]
    chosen = Threshold.at_precision(scores, signs, precision).decide(scores)
    np.testing.assert_array_equal(chosen, given_by[min(reached)] if reached else np.zeros_like(chosen))


def test_missing_scores_and_what_cannot_be_reached():
    scores, signs = np.array([[np.nan, 0.9], [0.8, 0.1]]), np.array([[1.0, -1.0], [-1.0, -1.0]])
    assert Threshold.at_precision(scores, signs, 0.5).thresholds == np.inf
    signs[0, 1] = 1.0
    assert Threshold.at_precision(scores, signs, 1.0).decide(scores).sum() == 1


@pytest.mark.parametrize("precision", [0.0, -1.0, 1.1, np.nan])
def test_what_is_no_precision_is_refused(precision):
    with pytest.raises(ValueError, match="give a share of right labels"):
        Threshold.at_precision(np.zeros((1, 1)), np.ones((1, 1)), precision)
    with pytest.raises(DataError, match="do not belong"):
        Threshold.at_precision(np.zeros((1, 2)), np.ones((1, 1)), 0.5)
