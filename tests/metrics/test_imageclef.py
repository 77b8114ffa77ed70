"""ImageCLEF's F-measures, per sample and per concept."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import f1_score

from gramless.errors import DataError
from gramless.metrics import mf_concepts, mf_samples
from tests.oracles import measures as oracle

MEASURES = [mf_samples, mf_concepts]


@st.composite
def indicator_pairs(draw):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=8))
    predicted, truth = draw(hnp.arrays(bool, shape)), draw(hnp.arrays(bool, shape))
    assume(truth.any())
    return predicted, truth


def test_worked_example():
    truth = [[1, 1, 0], [1, 0, 0], [0, 1, 1]]
    predicted = [[1, 0, 1], [1, 0, 0], [1, 0, 0]]
    assert mf_samples(predicted, truth) == pytest.approx(100 * (2 / 4 + 1 + 0) / 3)
    assert mf_concepts(predicted, truth) == pytest.approx(100 * (4 / 5 + 0 + 0) / 3)


@pytest.mark.parametrize("measure", MEASURES)
def test_perfect_and_hopeless(measure):
    truth = np.array([[1, 0], [0, 1]])
    assert measure(truth, truth) == 100.0
    assert measure(1 - truth, truth) == 0.0
    assert measure(0 * truth, truth) == 0.0


def test_empty_sets_count_as_zero_per_sample():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # right; nothing predicted; nothing true; neither
        assert mf_samples([[1, 0], [0, 0], [1, 0], [0, 0]], [[1, 0], [1, 0], [0, 0], [0, 0]]) == pytest.approx(25.0)
        assert mf_samples([[0, 0]], [[0, 0]]) == 0.0


def test_concepts_that_do_not_occur_are_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # right; never predicted; never true; neither
        assert mf_concepts([[1, 0, 1, 0], [1, 0, 0, 0]], [[1, 1, 0, 0], [1, 0, 0, 0]]) == pytest.approx(50.0)


def test_one_sample_and_one_label():
    assert mf_samples([[1, 1, 0]], [[1, 0, 1]]) == pytest.approx(50.0)
    assert mf_concepts([[1, 1, 0]], [[1, 0, 1]]) == pytest.approx(50.0)  # concepts 0 and 2 occur
    assert mf_samples([[1], [1], [0]], [[1], [0], [1]]) == pytest.approx(100 / 3)
    assert mf_concepts([[1], [1], [0]], [[1], [0], [1]]) == pytest.approx(50.0)


@given(indicator_pairs())
def test_equals_counting_one_by_one(pair):
    predicted, truth = pair
    lists = predicted.tolist(), truth.tolist()
    assert mf_samples(predicted, truth) == pytest.approx(oracle.mf_samples(*lists))
    assert mf_concepts(predicted, truth) == pytest.approx(oracle.mf_concepts(*lists))


@given(indicator_pairs())
def test_agrees_with_scikit_learn(pair):
    predicted, truth = pair
    present = truth.any(0)
    assume(present.sum() > 1)  # scikit-learn reads one column as classes
    assert mf_samples(predicted, truth) == pytest.approx(
        100 * f1_score(truth, predicted, average="samples", zero_division=0)
    )
    assert mf_concepts(predicted, truth) == pytest.approx(
        100 * f1_score(truth[:, present], predicted[:, present], average="macro", zero_division=0)
    )


@given(indicator_pairs(), st.randoms(use_true_random=False))
def test_order_of_samples_and_concepts_does_not_matter(pair, random):
    predicted, truth = pair
    rows, labels = list(range(truth.shape[0])), list(range(truth.shape[1]))
    random.shuffle(rows)
    random.shuffle(labels)
    for measure in MEASURES:
        shuffled = measure(predicted[rows][:, labels], truth[rows][:, labels])
        assert shuffled == pytest.approx(measure(predicted, truth))


@given(indicator_pairs())
def test_one_is_the_other_transposed_where_everything_occurs(pair):
    predicted, truth = pair
    truth = truth | np.eye(*truth.shape, dtype=bool)
    truth[:, 0] |= ~truth.any(1)
    assume(truth.any(0).all())
    assert mf_concepts(predicted, truth) == pytest.approx(mf_samples(predicted.T, truth.T))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, object])
def test_any_type_of_zeros_and_ones(rng, measure, dtype):
    predicted, truth = rng.random((2, 300, 4)) < 0.95  # more than 255 of a kind
    assert measure(predicted.astype(dtype), truth.astype(dtype)) == measure(predicted, truth)


@pytest.mark.parametrize("measure", MEASURES)
def test_inputs_stay_as_they_were(measure):
    predicted, truth = np.array([[True, False], [True, True]]), np.array([[False, True], [True, True]])
    predicted.setflags(write=False)
    truth.setflags(write=False)
    measure(predicted, truth)
    np.testing.assert_array_equal(predicted, [[True, False], [True, True]])
    np.testing.assert_array_equal(truth, [[False, True], [True, True]])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("predicted", "truth", "message"),
    [
        ([[1, 0]], [[1], [0]], r"predicted is \(1, 2\) and truth \(2, 1\)"),
        ([[0.7, -0.2]], [[1, 0]], "predicted holds 0.7.*predicted > 0"),
        ([[1, 0]], [[1, -1]], "truth holds -1"),
        ([[1, 0]], [[1, np.nan]], "truth holds nan"),
        ([1, 0], [1, 0], r"shape \(2,\)"),
        (np.zeros((3, 0)), np.zeros((3, 0)), r"shape \(3, 0\)"),
    ],
)
def test_refuses_what_is_no_pair_of_indicators(measure, predicted, truth, message):
    with pytest.raises(DataError, match=message):
        measure(predicted, truth)


def test_no_concept_at_all_has_no_mean():
    with pytest.raises(DataError, match="has no positive"):
        mf_concepts([[1, 0]], [[0, 0]])
