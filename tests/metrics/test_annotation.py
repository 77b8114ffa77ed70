"""The k best labels, and COREL5k's recall, precision and N+."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import precision_score, recall_score

from gramless.errors import DataError
from gramless.metrics import AnnotationScores, annotation_scores, top_k
from tests.oracles import measures as oracle

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=8)
SCORES = SHAPES.flatmap(lambda shape: hnp.arrays(float, shape, elements=st.integers(-3, 3).map(lambda i: i / 4)))


@st.composite
def indicator_pairs(draw):
    shape = draw(SHAPES)
    return draw(hnp.arrays(bool, shape)), draw(hnp.arrays(bool, shape))


# top_k


def test_takes_the_best_of_negative_scores():
    scores = [[-0.5, -2.0, -0.1], [3.0, -1.0, 2.0]]
    taken = top_k(scores, k=2)
    assert taken.dtype == bool
    np.testing.assert_array_equal(taken, [[True, False, True], [True, False, True]])


def test_takes_five_by_default():
    np.testing.assert_array_equal(top_k(np.arange(7.0)[None]), [[False, False, True, True, True, True, True]])


def test_ties_go_to_the_lower_label():
    np.testing.assert_array_equal(top_k(np.zeros((2, 40)), k=3), [[True] * 3 + [False] * 37] * 2)
    np.testing.assert_array_equal(top_k([[1.0, 5.0, 1.0, 1.0]], k=2), [[True, True, False, False]])
    np.testing.assert_array_equal(top_k([[-0.0, 0.0, -0.0]], k=1), [[True, False, False]])


@pytest.mark.parametrize("k", [3, 4, 1000])
def test_k_of_c_or_more_takes_all(k):
    np.testing.assert_array_equal(top_k([[1.0, -2.0, 0.0]], k=k), [[True, True, True]])


def test_integer_scores_do_not_wrap_around():
    np.testing.assert_array_equal(top_k(np.array([[0, 200, 100]], dtype=np.uint8), k=1), [[False, True, False]])
    np.testing.assert_array_equal(top_k(np.array([[-128, 5]], dtype=np.int8), k=1), [[False, True]])


@given(SCORES, st.integers(1, 10))
def test_equals_picking_one_by_one(scores, k):
    np.testing.assert_array_equal(top_k(scores, k), oracle.top_k(scores.tolist(), k))


def test_counts_and_order_at_the_size_of_corel5k(rng):
    scores = rng.normal(size=(499, 260))
    taken = top_k(scores)
    assert (taken.sum(1) == 5).all()
    assert (np.where(taken, scores, np.inf).min(1) > np.where(taken, -np.inf, scores).max(1)).all()


@pytest.mark.parametrize("k", [0, -1, 2.5, "5", None])
def test_refuses_a_k_that_is_no_number_of_labels(k):
    with pytest.raises(ValueError, match="k="):
        top_k([[1.0, 2.0]], k=k)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0, np.nan], [np.inf, 0.0]], r"2 of 4 scores are NaN or infinite, the first at \(0, 1\)"),
        ([1.0, 2.0], r"shape \(2,\)"),
        (np.zeros((2, 0)), r"shape \(2, 0\)"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        ([[1.0, 2.0], [3.0]], "not an array of numbers"),
        ([["high", "low"]], "type <U4"),
        ([[None, {}]], "not an array of numbers"),
        (sparse.eye(3).tocsr(), r"\.toarray\(\)"),
    ],
)
def test_refuses_scores_that_cannot_be_ranked(scores, message):
    with pytest.raises(DataError, match=message):
        top_k(scores)


# annotation_scores


def test_worked_example():
    """Four pictures; keywords: sky, sea, cat (in truth never), tree (never predicted)."""
    truth = [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 1], [1, 0, 0, 1]]
    predicted = [[1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]]
    scores = annotation_scores(predicted, truth)
    # sky: 3 hits of 4 true, 3 predicted; sea: 1 hit of 2 true, 3 predicted; tree: 0 hits of 2 true, 0 predicted
    recall = 100 * (3 / 4 + 1 / 2 + 0) / 3
    precision = 100 * (1 + 1 / 3 + 0) / 3
    assert dataclasses.astuple(scores) == pytest.approx(
        (recall, precision, 2, 2 * recall * precision / (recall + precision))
    )
    assert isinstance(scores.n_plus, int)
    assert isinstance(scores.recall, float)


def test_f1_is_of_the_means_and_not_the_mean_of_f1s():
    scores = annotation_scores([[1, 1], [1, 0]], [[1, 1], [0, 1]])  # R 1, 1/2; P 1/2, 1
    assert dataclasses.astuple(scores) == pytest.approx((75.0, 75.0, 2, 75.0))  # the mean of F1s would be 66.7


def test_perfect_and_hopeless():
    truth = np.array([[1, 0], [0, 1]])
    assert annotation_scores(truth, truth) == AnnotationScores(100.0, 100.0, 2, 100.0)
    assert annotation_scores(1 - truth, truth) == AnnotationScores(0.0, 0.0, 0, 0.0)
    assert annotation_scores(0 * truth, truth) == AnnotationScores(0.0, 0.0, 0, 0.0)


def test_one_picture_and_one_keyword():
    assert annotation_scores([[True]], [[True]]) == AnnotationScores(100.0, 100.0, 1, 100.0)
    assert annotation_scores([[1], [1], [0]], [[1], [0], [0]]).precision == pytest.approx(50.0)
    assert annotation_scores([[1, 1, 0]], [[1, 0, 1]]) == AnnotationScores(50.0, 50.0, 1, 50.0)


@given(indicator_pairs())
def test_equals_counting_keyword_by_keyword(pair):
    predicted, truth = pair
    assume(truth.any())
    scores = annotation_scores(predicted, truth)
    assert dataclasses.astuple(scores) == pytest.approx(oracle.annotation_scores(predicted.tolist(), truth.tolist()))


@given(indicator_pairs())
def test_agrees_with_scikit_learn_over_the_keywords_that_occur(pair):
    predicted, truth = pair
    assume(truth.any(0).sum() > 1)  # scikit-learn reads one column as classes
    present = truth.any(0)
    scores = annotation_scores(predicted, truth)
    settings = {"average": "macro", "zero_division": 0}
    assert scores.recall == pytest.approx(100 * recall_score(truth[:, present], predicted[:, present], **settings))
    assert scores.precision == pytest.approx(
        100 * precision_score(truth[:, present], predicted[:, present], **settings)
    )


@given(indicator_pairs(), st.randoms(use_true_random=False))
def test_order_of_pictures_and_keywords_does_not_matter(pair, random):
    predicted, truth = pair
    assume(truth.any())
    rows, labels = list(range(truth.shape[0])), list(range(truth.shape[1]))
    random.shuffle(rows)
    random.shuffle(labels)
    shuffled = annotation_scores(predicted[rows][:, labels], truth[rows][:, labels])
    assert dataclasses.astuple(shuffled) == pytest.approx(dataclasses.astuple(annotation_scores(predicted, truth)))


def test_a_keyword_that_does_not_occur_changes_nothing(rng):
    predicted, truth = rng.random((2, 20, 6)) < 0.4
    before = annotation_scores(predicted, truth)
    predicted = np.column_stack([predicted, np.ones(20), np.zeros(20)])
    truth = np.column_stack([truth, np.zeros(20), np.zeros(20)])
    assert annotation_scores(predicted, truth) == before


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int64, np.float32, object])
def test_any_type_of_zeros_and_ones(rng, dtype):
    predicted, truth = rng.random((2, 300, 4)) < 0.95  # more than 255 of a kind
    assert annotation_scores(predicted.astype(dtype), truth.astype(dtype)) == annotation_scores(predicted, truth)


def test_inputs_stay_as_they_were():
    predicted, truth = np.array([[1, 0], [1, 1]]), np.array([[0, 1], [1, 1]])
    scores = np.array([[0.5, -1.0], [2.0, 2.0]])
    for array in (predicted, truth, scores):
        array.setflags(write=False)
    annotation_scores(predicted, truth)
    annotation_scores(predicted == 1, truth == 1)
    top_k(scores, k=1)
    np.testing.assert_array_equal(truth, [[0, 1], [1, 1]])
    np.testing.assert_array_equal(predicted, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(scores, [[0.5, -1.0], [2.0, 2.0]])


@pytest.mark.parametrize(
    ("predicted", "truth", "message"),
    [
        ([[1, 0]], [[1, 0], [0, 1]], r"predicted is \(1, 2\) and truth \(2, 2\)"),
        ([[1, 0]], [[1, -1]], "truth holds -1.*truth > 0"),
        ([[0.3, 1.0]], [[1, 0]], "predicted holds 0.3.*top_k"),
        ([[np.nan, 1.0]], [[1, 0]], "predicted holds nan"),
        ([1, 0], [[1, 0]], r"predicted has the shape \(2,\)"),
        ([[1, 0]], [1, 0], r"truth has the shape \(2,\)"),
        (np.zeros((0, 3)), np.zeros((0, 3)), r"shape \(0, 3\)"),
        ([[1, 0]], [[0, 0]], r"truth, \(1, 2\), has no positive"),
    ],
)
def test_refuses_what_is_no_pair_of_indicators(predicted, truth, message):
    with pytest.raises(DataError, match=message):
        annotation_scores(predicted, truth)


@pytest.mark.parametrize(
    "scores",
    [torch.rand(3, 2, requires_grad=True), torch.zeros(3, 2, device="meta"), [[10**400, 1]], torch.eye(3).to_sparse()],
    ids=["grad", "meta", "too long", "sparse"],
)
def test_what_is_no_array_of_numbers_is_refused_in_words(scores):
    for function in (top_k, lambda given: annotation_scores(given, np.ones((3, 2)))):
        with pytest.raises(DataError, match="is not an array of numbers"):
            function(scores)
