"""Average precision against an oracle and scikit-learn, and whether probabilities mean what they say."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import average_precision_score

from gramless.errors import DataError
from gramless.metrics import expected_calibration_error, mean_average_precision, reliability
from tests.oracles import measures as oracle

OVER = st.sampled_from(["samples", "concepts"])
TIED = st.integers(-3, 3).map(lambda i: i / 4)
FINITE = st.floats(-1e6, 1e6)


@st.composite
def rankings(draw):
    """Scores and truth (n, c) with a positive somewhere; half of them with many ties."""
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=8))
    scores = draw(hnp.arrays(float, shape, elements=draw(st.sampled_from([TIED, FINITE]))))
    truth = draw(hnp.arrays(bool, shape))
    assume(truth.any())
    return scores, truth


def average_precision(scores, relevant):
    """Of one ranking, in [0, 1]."""
    return mean_average_precision([scores], [relevant]) / 100


def test_worked_example():
    # relevant at ranks 1, 3 and 4
    assert average_precision([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 0]) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)


def test_negative_scores_count_as_scores():
    """A measure that drops targets of non-positive score gives 0 or 1/2 here."""
    assert average_precision([-0.1, -0.2, -0.3], [1, 0, 1]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([1.0, -3.0, -1.0, -2.0], [1, 1, 0, 0]) == pytest.approx((1 + 2 / 4) / 2)
    assert mean_average_precision([[-1.0, -2.0], [-2.0, -1.0]], [[1, 0], [1, 0]]) == pytest.approx(75.0)


def test_only_the_order_counts(rng):
    scores, truth = rng.normal(size=(30, 12)), rng.random((30, 12)) < 0.3
    expected = mean_average_precision(scores, truth)
    assert 10 < expected < 90
    for other in (scores - 100.0, np.exp(scores), 1e-9 * scores, scores**3):
        assert mean_average_precision(other, truth) == pytest.approx(expected)
    assert mean_average_precision(-scores, truth) != pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("value", [-2.5, 0.0, 1.0])
@pytest.mark.parametrize("relevant", [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1]])
def test_all_ties_give_the_share_of_relevant_items(value, relevant):
    assert average_precision([value] * 4, relevant) == pytest.approx(sum(relevant) / 4)


def test_ties_enter_together():
    # threshold 3: 1 of 1; threshold 2: 2 of 4 for one more; threshold 1: 3 of 5 for the last
    for relevant in ([1, 0, 1, 0, 1], [1, 1, 0, 0, 1], [1, 0, 0, 1, 1]):
        assert average_precision([3, 2, 2, 2, 1], relevant) == pytest.approx((1 + 2 / 4 + 3 / 5) / 3)
    assert average_precision([0.0, -0.0, -1.0], [0, 1, 0]) == pytest.approx(1 / 2)


def test_everything_relevant_is_one():
    assert average_precision([1.0, -2.0], [1, 1]) == 1.0
    assert average_precision([-7.0], [True]) == 1.0


@given(rankings())
def test_one_ranking_equals_the_definition_and_scikit_learn(case):
    scores, truth = case
    for s, t in zip(scores, truth, strict=True):
        if t.any():
            value = average_precision(s, t)
            assert value == pytest.approx(oracle.average_precision(s.tolist(), t.tolist()))
            assert value == pytest.approx(average_precision_score(t, s))


@given(rankings(), OVER)
def test_the_mean_equals_the_oracle(case, over):
    scores, truth = case
    expected = oracle.mean_average_precision(scores.tolist(), truth.tolist(), over)
    assert mean_average_precision(scores, truth, over=over) == pytest.approx(expected)


def test_the_mean_agrees_with_scikit_learn_on_margins(rng):
    truth = rng.random((80, 15)) < 0.2
    truth[np.arange(80), np.arange(80) % 15] = True
    scores = np.round(rng.normal(size=(80, 15)) + truth - 3.0, 1)  # nearly all negative, many ties
    for over, average in (("samples", "samples"), ("concepts", "macro")):
        expected = 100 * average_precision_score(truth, scores, average=average)
        assert mean_average_precision(scores, truth, over=over) == pytest.approx(expected)


def test_samples_and_concepts_differ_by_a_transposition():
    scores, truth = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.6]]), np.array([[1, 0, 0], [1, 0, 1]])
    assert mean_average_precision(scores, truth) == pytest.approx(100 * (1 + (1 / 2 + 2 / 3) / 2) / 2)
    assert mean_average_precision(scores, truth, over="samples") == mean_average_precision(scores, truth)
    assert mean_average_precision(scores, truth, over="concepts") == pytest.approx(100 * (1 + 1) / 2)
    assert mean_average_precision(scores.T, truth.T, over="samples") == pytest.approx(100.0)


def test_rows_and_columns_without_positives_are_left_out():
    scores = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    truth = np.array([[0, 1, 0], [0, 0, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mean_average_precision(scores, truth, over="samples") == pytest.approx(50.0)
        assert mean_average_precision(scores, truth, over="concepts") == pytest.approx(50.0)  # tied with sample 1


def test_one_sample_and_one_label():
    assert mean_average_precision([[-1.0, -3.0, -2.0]], [[0, 1, 1]]) == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)
    assert mean_average_precision([[-1.0, -3.0, -2.0]], [[0, 1, 1]], over="concepts") == pytest.approx(100.0)
    assert mean_average_precision([[0.3], [0.2], [0.1]], [[0], [1], [0]]) == pytest.approx(100.0)
    assert mean_average_precision([[0.3], [0.2], [0.1]], [[0], [1], [0]], over="concepts") == pytest.approx(50.0)


@given(rankings(), OVER, st.randoms(use_true_random=False))
def test_order_of_samples_and_labels_does_not_matter(case, over, random):
    scores, truth = case
    rows, labels = list(range(truth.shape[0])), list(range(truth.shape[1]))
    random.shuffle(rows)
    random.shuffle(labels)
    shuffled = mean_average_precision(scores[rows][:, labels], truth[rows][:, labels], over=over)
    assert shuffled == pytest.approx(mean_average_precision(scores, truth, over=over))


def test_inputs_stay_as_they_were():
    scores, truth = np.array([[0.5, -1.0], [2.0, 2.0]]), np.array([[True, False], [False, True]])
    scores.setflags(write=False)
    truth.setflags(write=False)
    mean_average_precision(scores, truth)
    mean_average_precision(scores, truth, over="concepts")
    np.testing.assert_array_equal(scores, [[0.5, -1.0], [2.0, 2.0]])
    np.testing.assert_array_equal(truth, [[True, False], [False, True]])


def test_float32_and_integers_are_taken(rng):
    scores, truth = rng.integers(0, 255, size=(40, 6)), rng.random((40, 6)) < 0.5
    expected = mean_average_precision(scores.astype(float), truth)
    for dtype in (np.uint8, np.int16, np.float32, object):
        assert mean_average_precision(scores.astype(dtype), truth.astype(int)) == expected


@pytest.mark.parametrize(
    ("scores", "truth", "message"),
    [
        ([[1.0, 2.0]], [[1, 0], [0, 1]], r"scores is \(1, 2\) and truth \(2, 2\)"),
        ([[1.0, np.nan]], [[1, 0]], "NaN or infinite"),
        ([[1.0, -np.inf]], [[1, 0]], "NaN or infinite"),
        ([[1.0, 2.0]], [[1, 2]], "truth holds 2"),
        ([1.0, 2.0], [1, 0], r"shape \(2,\)"),
        ([[1.0, 2.0]], [[1, -1]], "truth holds -1"),
        ([[1.0, 2.0], [1.0, np.nan]], [[1, 0], [1, 0]], r"first at \(1, 1\)"),
        ([[]], [[]], r"shape \(1, 0\)"),
        ([[1.0, 2.0]], [[0, 0]], "no positive for any of 1 samples"),
    ],
)
def test_refuses_what_cannot_be_ranked(scores, truth, message):
    with pytest.raises(DataError, match=message):
        mean_average_precision(scores, truth)


def test_refuses_an_unknown_direction():
    with pytest.raises(ValueError, match=r"over='labels'.*'concepts'"):
        mean_average_precision([[1.0]], [[1]], over="labels")


def by_hand(p, truth, n_bins):
    bins = {}
    for row, has in zip(p.tolist(), truth.tolist(), strict=True):
        for number, right in zip(row, has, strict=True):
            bins.setdefault(min(int(number * n_bins), n_bins - 1), []).append((number, right))
    n = sum(map(len, bins.values()))
    means = {
        b: (sum(a for a, _ in pairs) / len(pairs), sum(r for _, r in pairs) / len(pairs)) for b, pairs in bins.items()
    }
    return bins, sum(len(bins[b]) / n * abs(p_mean - share) for b, (p_mean, share) in means.items())


def test_bins_and_error_are_those_by_hand(rng):
    p = rng.random((40, 7)) ** 3
    truth = rng.random(p.shape) < p**0.7
    bins, error = by_hand(p, truth, 15)
    found = reliability(p, truth)
    assert [each.n_answers for each in found] == [len(bins[b]) for b in sorted(bins)]
    assert [each.observed for each in found] == pytest.approx([np.mean([r for _, r in bins[b]]) for b in sorted(bins)])
    assert expected_calibration_error(p, truth) == pytest.approx(error)


def test_probabilities_that_mean_what_they_say_are_off_by_little(rng):
    p = rng.random((20_000, 5))
    truth = rng.random(p.shape) < p
    # 100,000 answers in 15 bins: each observed share is off by some sqrt(15 / (4 * 100,000)) = 0.006
    assert expected_calibration_error(p, truth) < 0.012
    assert expected_calibration_error(p, ~truth) > 0.3


def test_certain_answers():
    assert expected_calibration_error([[0.0, 1.0]], [[0, 1]]) == 0.0
    assert expected_calibration_error([[0.0, 1.0]], [[1, 0]]) == 1.0
    assert len(reliability([[1.0, 1.0]], [[1, 0]])) == 1


def test_what_is_no_probability_is_refused():
    with pytest.raises(DataError, match="between 0 and 1"):
        reliability([[1.5]], [[1]])
    with pytest.raises(DataError, match="NaN"):
        reliability([[np.nan]], [[1]])
