"""The answer with the highest expected F1, against all subsets and all outcomes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.heads import ExpectedF1
from gramless.heads.expected_f1 import expected_f1

chance = st.integers(0, 20).map(lambda i: i / 20)


def f1(given, has):
    if not given and not has:
        return 1.0
    return 2.0 * len(given & has) / (len(given) + len(has))


def subsets(n):
    return [frozenset(s) for k in range(n + 1) for s in itertools.combinations(range(n), k)]


def expectation(given, p):
    """Over every set of labels that the sample may have."""
    total = 0.0
    for has in subsets(len(p)):
        chance_of_it = 1.0
        for j, p_j in enumerate(p):
            chance_of_it *= p_j if j in has else 1.0 - p_j
        total += chance_of_it * f1(given, has)
    return total


@given(st.lists(chance, min_size=1, max_size=5))
def test_no_subset_is_better(p):
    (chosen,) = ExpectedF1().decide(np.array([p]))
    found = expectation(frozenset(np.flatnonzero(chosen)), p)
    best = max(expectation(given, p) for given in subsets(len(p)))
    assert found == pytest.approx(best, abs=1e-9)


@given(st.lists(chance, min_size=1, max_size=6))
def test_expectations_are_those_over_all_outcomes(p):
    ordered = sorted(p, reverse=True)
    found = expected_f1(np.array([ordered]))[0]
    for k, value in enumerate(found):
        assert value == pytest.approx(expectation(frozenset(range(k)), ordered), abs=1e-12)


def counts(p):
    """The distribution of the number of labels, one label at a time."""
    distribution = np.array([1.0])
    for p_j in p:
        distribution = np.convolve(distribution, [1.0 - p_j, p_j])
    return distribution


@pytest.mark.parametrize("n_labels", [7, 260, 700])
def test_many_labels_against_sums_over_counts(rng, n_labels):
    p = np.sort(rng.random(n_labels) ** 40)[::-1]
    found = expected_f1(p[None])[0]
    for k in (0, 1, 2, 5, n_labels // 2, n_labels):
        right, rest = counts(p[:k]), counts(p[k:])
        expected = sum(
            a * b * (2.0 * r / (k + r + m) if k + r + m else 1.0)
            for r, a in enumerate(right)
            for m, b in enumerate(rest)
        )
        assert found[k] == pytest.approx(expected, abs=1e-9)


def test_none_one_or_many():
    p = np.array([[0.1, 0.05, 0.0], [0.9, 0.05, 0.0], [0.9, 0.8, 1.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(
        ExpectedF1().decide(p),
        [[False, False, False], [True, False, False], [True, True, True], [False, False, False]],
    )


def test_more_than_one_half_is_not_the_rule():
    """Where something is surely there, an answer below one half beats silence."""
    assert ExpectedF1().decide(np.full((1, 6), 0.4))[0].all()
    assert not ExpectedF1().decide(np.full((1, 2), 0.2))[0].any()


def test_equal_labels_in_their_order_and_unknown_ones_never():
    chosen = ExpectedF1().decide(np.array([[np.nan, 0.7, 0.7, 0.0]]))
    np.testing.assert_array_equal(chosen, [[False, True, True, False]])
    assert ExpectedF1().decide(np.zeros((0, 3))).shape == (0, 3)
    assert not ExpectedF1().decide(np.array([[np.nan]])).any()


def test_blocks_of_rows_change_nothing(rng, monkeypatch):
    p = rng.random((40, 9)) ** 3
    whole = ExpectedF1().decide(p)
    monkeypatch.setattr("gramless.heads.expected_f1.AT_ONCE", 200)
    np.testing.assert_array_equal(ExpectedF1().decide(p), whole)
