"""Probabilities of classes: against logistic regression without a bias, a search by hand, and on hostile scores."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression

from gramless.errors import DataError
from gramless.heads import Temperature


def classes(rng, n=2000, n_classes=4, sharpness=1.7):
    """Scores, and signs of classes that were drawn with the probabilities softmax(sharpness scores)."""
    scores = rng.normal(size=(n, n_classes))
    odds = np.exp(sharpness * scores)
    drawn = (rng.random((n, 1)) > np.cumsum(odds / odds.sum(1, keepdims=True), axis=1)).sum(1)
    return scores, np.where(drawn[:, None] == np.arange(n_classes), 1.0, -1.0)


def test_the_slope_that_classes_were_drawn_with_is_found(rng):
    scores, signs = classes(rng, n=20_000)
    assert Temperature.learn(scores, signs).slope == pytest.approx(1.7, rel=0.05)


def test_of_two_classes_it_is_logistic_regression_without_a_bias(rng):
    scores = rng.normal(size=(5000, 1))
    signs = np.where(rng.random((5000, 1)) < 1 / (1 + np.exp(-2.5 * scores)), 1.0, -1.0)
    expected = LogisticRegression(C=1e6, fit_intercept=False).fit(scores, signs[:, 0])
    found = Temperature.learn(scores, signs)
    assert found.slope == pytest.approx(expected.coef_[0, 0], rel=0.01)  # the doubt is one in 5,002
    np.testing.assert_allclose(found.probabilities(scores), expected.predict_proba(scores), atol=0.01)


def test_a_weight_is_a_number_of_copies(rng):
    scores, signs = classes(rng, n=300)
    times = rng.integers(1, 4, size=300)
    weighted = Temperature.learn(scores, signs, times.astype(float))
    copied = Temperature.learn(scores.repeat(times, axis=0), signs.repeat(times, axis=0))
    assert weighted.slope == pytest.approx(copied.slope, rel=0.02)  # copies are less in doubt
    assert weighted.slope != pytest.approx(Temperature.learn(scores, signs).slope, rel=1e-6)


def test_scores_that_never_err_are_not_certain():
    signs = np.where(np.arange(60)[:, None] % 3 == np.arange(3), 1.0, -1.0)
    found = Temperature.learn(signs, signs)
    assert 0.9 < found.probabilities(signs).max() < 0.999


def test_rows_without_a_score_are_left_out(rng):
    scores, signs = classes(rng, n=200)
    holes = scores.copy()
    holes[::2, 1] = np.nan
    assert Temperature.learn(holes, signs) == Temperature.learn(scores[1::2], signs[1::2])


@example(scores=np.array([[np.inf], [1e-300]]), seed=0)  # a steep slope took large scores to infinity
@given(
    scores=arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 4)),
        elements=st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e12, -1e12, np.nan, np.inf]),
    ),
    seed=st.integers(0, 20),
)
def test_any_scores_give_a_slope_and_finite_ones_probabilities_that_sum_to_one(scores, seed):
    n, n_labels = scores.shape
    signs = np.where(
        np.random.default_rng(seed).integers(max(n_labels, 2), size=(n, 1)) == np.arange(n_labels), 1.0, -1
    )
    found = Temperature.learn(scores, signs)
    finite = np.nan_to_num(scores, nan=0.0, posinf=1e12, neginf=-1e12)
    p = found.probabilities(finite)
    assert p.shape == (n, max(n_labels, 2))
    np.testing.assert_allclose(p.sum(1), 1.0)
    if n_labels > 1:
        assert (p[np.arange(n), finite.argmax(1)] == p.max(1)).all()


def test_what_cannot_be_is_refused():
    with pytest.raises(DataError, match=r"scores of shape \(3, 2\) do not belong to signs of shape \(2, 2\)"):
        Temperature.learn(np.zeros((3, 2)), np.ones((2, 2)))
    with pytest.raises(DataError, match="positive and finite, got 0"):
        Temperature(0.0)
