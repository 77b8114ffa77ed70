"""Decisions: the best k labels, or all above a threshold, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.heads import Threshold, TopK
from tests.oracles import heads as oracle

few_values = st.integers(-3, 3).map(float)  # so that ties are common


@given(
    scores=arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=few_values), k=st.integers(1, 9)
)
def test_the_best_k_and_of_equals_the_first(scores, k):
    chosen = TopK(k).decide(scores)
    assert chosen.dtype == bool
    for row, found in zip(scores.tolist(), chosen, strict=True):
        assert set(np.flatnonzero(found)) == oracle.top_k(row, k)


def test_a_missing_score_is_worse_than_any():
    scores = np.array([[np.nan, -np.inf, 2.0, np.nan]])
    np.testing.assert_array_equal(TopK(2).decide(scores), [[False, True, True, False]])
    assert not Threshold(-5.0).decide(scores)[0, [0, 3]].any()


@pytest.mark.parametrize("k", [0, -3])
def test_k_must_be_positive(k):
    with pytest.raises(ValueError, match=f"got k={k}"):
        TopK(k)


def test_thresholds_for_all_labels_or_for_each():
    scores = np.array([[0.0, 0.5], [-0.1, 2.0]])
    np.testing.assert_array_equal(Threshold().decide(scores), [[False, True], [False, True]])
    np.testing.assert_array_equal(Threshold(np.array([-0.05, 1.0])).decide(scores), [[True, False], [False, True]])
