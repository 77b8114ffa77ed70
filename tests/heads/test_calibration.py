"""From scores to probabilities: against a maximum of the likelihood found by search, and on scores that say little."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from gramless.errors import DataError
from gramless.heads import Calibration, calibration


def keywords(rng, n=400, rates=(0.4, 0.15, 0.03), units=(0.1, 1.0, 7.0), middles=(-1.0, 0.0, 30.0)):
    """Scores that are higher for samples with the label, each label's in a unit of its own, and the signs."""
    signs = np.where(rng.random((n, len(rates))) < rates, 1.0, -1.0)
    return (0.8 * signs + rng.normal(size=signs.shape)) * units + middles, signs


def standardised(column):
    """By hand, one number at a time."""
    mean = sum(column) / len(column)
    return mean, (sum((number - mean) ** 2 for number in column) / len(column)) ** 0.5


def likeliest(scores, signs):
    """Probabilities at the slope, share of the log odds and constant that maximise the likelihood, by search."""
    n = len(scores)
    unusual, odds = np.empty(scores.shape), np.empty(scores.shape)
    for j in range(scores.shape[1]):
        mean, deviation = standardised(scores[:, j].tolist())
        unusual[:, j] = [np.arcsinh((number - mean) / deviation) for number in scores[:, j]]
        share = (sum(sign > 0 for sign in signs[:, j]) + 0.5) / (n + 1)
        odds[:, j] = np.log(share / (1 - share))

    def surprise(three):
        return np.logaddexp(0.0, -signs * (three[0] * unusual + three[1] * odds + three[2])).sum()

    found = minimize(surprise, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    certain = 1 / (1 + np.exp(-(found.x[0] * unusual + found.x[1] * odds + found.x[2])))
    n_with = np.array([sum(sign > 0 for sign in column) for column in signs.T.tolist()])
    return certain * (n_with + 1) / (n_with + 2) + (1 - certain) / (n - n_with + 2)  # Platt's targets


def tables(n_labels):
    cells = st.integers(-1000, 1000).map(lambda i: i / 100)
    return arrays(np.float64, st.tuples(st.integers(2, 12), n_labels), elements=cells)


@st.composite
def hostile(draw):
    """Few samples, few values, any signs, missing and huge numbers."""
    values = st.sampled_from([0.0, 1.0, -1.0, 0.3, 1e-300, -1e12, 1e300, -1.7e308, 5e-324, np.nan, np.inf, -np.inf])
    scores = draw(arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=values))
    return scores, np.where(draw(arrays(np.bool_, scores.shape)), 1.0, -1.0)


def test_each_label_is_standardised_by_its_own_scores(rng):
    scores, signs = keywords(rng)
    found = Calibration.learn(scores, signs)
    np.testing.assert_allclose(found.shift, scores.mean(0))
    np.testing.assert_allclose(found.scale, scores.std(0))


@pytest.mark.parametrize("seed", range(3))
def test_the_three_shared_numbers_maximise_the_likelihood(seed):
    scores, signs = keywords(np.random.default_rng(seed))
    found = Calibration.learn(scores, signs).probabilities(scores)
    np.testing.assert_allclose(found, likeliest(scores, signs), atol=2e-3)


def test_probabilities_are_frequencies(rng):
    """Of the samples that get 30 %, about 30 % have the label, rare labels included."""
    scores, signs = keywords(rng, n=20_000, rates=(0.4, 0.1, 0.02), units=(1.0, 1.0, 1.0))
    p = Calibration.learn(scores[::2], signs[::2]).probabilities(scores[1::2])
    has = signs[1::2] > 0
    np.testing.assert_allclose(p.mean(0), has.mean(0), rtol=0.35)  # three numbers for all labels
    for low in np.arange(0.0, 0.7, 0.1):
        among = (p >= low) & (p < low + 0.1)
        assert has[among].mean() == pytest.approx(p[among].mean(), abs=0.06)


@pytest.mark.parametrize("n_examples", [1, 2, 10])
def test_few_examples_do_not_say_more_than_the_rule_of_succession(rng, n_examples):
    """However far out a score lies; and what few had is not out of the question either."""
    scores, signs = keywords(rng)
    signs[:, 2] = -1.0
    signs[:n_examples, 2] = 1.0
    if n_examples == 1:
        scores[0, 2] = np.nan  # the others do not know the label
    p = Calibration.learn(scores, signs).probabilities(np.array([[1e300] * 3, [-1e300] * 3]))
    assert p[0, 2] == pytest.approx((n_examples + 1) / (n_examples + 2))
    assert p[1, 2] == pytest.approx(1 / (400 - n_examples + 2))


def test_what_is_not_known_counts_neither_way(rng):
    scores, signs = keywords(rng, n=4000)
    signs[1000:, 0] = 0.0
    scores[1000:, 0] = np.nan
    found = Calibration.learn(scores, signs)
    assert found.least[0] == pytest.approx(1 / ((signs[:, 0] < 0).sum() + 2))
    assert found.probabilities(scores[:1000])[:, 0].mean() == pytest.approx((signs[:1000, 0] > 0).mean(), abs=0.05)


def test_a_frequent_label_with_high_scores_no_longer_wins_every_sample(rng):
    """Label 1 is rare: its scores are low and narrow, though its own samples stand out among them."""
    signs = np.where(rng.random((300, 2)) < [0.5, 0.05], 1.0, -1.0)
    scores = np.column_stack([1 + signs[:, 0] + rng.normal(size=300), -1 + 0.1 * signs[:, 1]])
    rare = (signs > 0).all(1) & (scores[:, 0] < 2)
    assert rare.any()
    assert (scores[rare].argmax(1) == 0).all()
    assert (Calibration.learn(scores, signs).probabilities(scores)[rare].argmax(1) == 1).all()


@given(scores=tables(st.integers(1, 4)), seed=st.integers(0, 50))
def test_within_a_label_nothing_changes_places(scores, seed):
    signs = np.where(np.random.default_rng(seed).random(scores.shape) < 0.4, 1.0, -1.0)
    found = Calibration.learn(scores, signs).probabilities(scores)
    assert ((found >= 0) & (found <= 1)).all()
    for raw, p in zip(scores.T, found.T, strict=True):
        assert (np.diff(p[np.argsort(raw, kind="stable")]) >= 0).all()


@given(
    scores=tables(st.just(3)),
    seed=st.integers(0, 50),
    units=st.tuples(*[st.sampled_from([0.125, 1.0, 3.0, 64.0])] * 3),
    shifts=st.tuples(*[st.integers(-50, 50)] * 3),
)
def test_each_label_may_have_a_unit_and_a_zero_of_its_own(scores, seed, units, shifts):
    scores = scores + np.arange(len(scores))[:, None] % 2  # none is constant, which would take the unit of the others
    if (scores.std(0) < 1e-2).any():
        return
    signs = np.where(np.random.default_rng(seed).random(scores.shape) < 0.4, 1.0, -1.0)
    here = Calibration.learn(scores, signs).probabilities(scores)
    there = Calibration.learn(scores * units + shifts, signs).probabilities(scores * units + shifts)
    np.testing.assert_allclose(there, here, atol=1e-3)


@given(case=hostile(), new=hostile())
def test_any_input_gives_probabilities(case, new):
    scores, signs = case
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        learned = Calibration.learn(scores, signs)
        assert np.isfinite(learned.shift).all()
        assert (np.isfinite(learned.scale) & (learned.scale > 0)).all()
        assert np.isfinite(learned.slope)
        assert learned.slope > 0
        asked = np.resize(new[0], (5, scores.shape[1]))
        for some in (scores, asked):
            p = learned.probabilities(some)
            np.testing.assert_array_equal(np.isnan(p), np.isnan(some))
            assert ((p >= 0) & (p <= 1) | np.isnan(p)).all()


def test_huge_scores_are_standardised_as_others_are(rng):
    scores, signs = keywords(rng)
    expected = Calibration.learn(scores, signs).probabilities(scores)
    huge = scores * 1e200
    np.testing.assert_allclose(Calibration.learn(huge, signs).probabilities(huge), expected, atol=1e-6)


def test_a_label_never_seen_has_probability_0_and_one_never_missing_1(rng):
    scores, signs = keywords(rng, rates=(0.0, 0.3, 1.0))
    p = Calibration.learn(scores, signs).probabilities(scores)
    assert (p[:, 0] == 0).all()
    assert (p[:, 2] == 1).all()
    assert ((p[:, 1] > 0) & (p[:, 1] < 1)).all()
    others = Calibration.learn(scores[:, 1:2], signs[:, 1:2]).probabilities(scores[:, 1:2])
    np.testing.assert_allclose(p[:, 1:2], others, atol=1e-3)


def test_scores_that_are_missing_are_left_out(rng):
    scores, signs = keywords(rng)
    holes = scores.copy()
    holes[:40, 1] = np.nan
    found = Calibration.learn(holes, signs)
    assert found.shift[1] == pytest.approx(scores[40:, 1].mean())
    assert found.scale[1] == pytest.approx(scores[40:, 1].std())
    p = found.probabilities(holes)
    np.testing.assert_array_equal(np.isnan(p), np.isnan(holes))
    np.testing.assert_allclose(p[40:], Calibration.learn(scores, signs).probabilities(scores)[40:], atol=0.05)


def test_a_label_of_constant_scores_has_its_frequency_and_rounding_is_not_blown_up(rng):
    scores, signs = keywords(rng, n=2000, rates=(0.4, 0.3, 0.2))
    scores[:, 1] = 0.3 + 1e-12 * rng.normal(size=2000)
    p = Calibration.learn(scores, signs).probabilities(scores)[:, 1]
    assert np.ptp(p) < 1e-6
    assert p[0] == pytest.approx(0.3, abs=0.1)


def test_scores_that_say_the_opposite_keep_their_order(rng):
    scores, signs = keywords(rng)
    p = Calibration.learn(-scores, signs).probabilities(-scores)
    for column, raw in zip(p.T, -scores.T, strict=True):
        assert (np.diff(column[np.argsort(raw)]) > 0).all()


def test_scores_that_reach_a_probability(rng):
    """Of one label that many have, a rare one, one that nobody has, and one that all have."""
    scores = rng.normal(size=(300, 4))
    signs = np.where(scores + rng.normal(size=scores.shape) > [0.0, 2.5, np.inf, -np.inf], 1, -1)
    learned = Calibration.learn(scores, signs)
    wanted = np.array([0.4, 0.1, 0.2, 0.9])
    found = learned.scores(wanted)
    assert learned.probabilities(found[None])[0, :2] == pytest.approx(wanted[:2], rel=1e-9)
    assert (found[2] > 1e30, found[3] < -1e30) == (True, True)
    never, always = learned.scores(np.ones(4)), learned.scores(np.zeros(4))
    assert np.isfinite([never, always]).all()
    assert (never[:3] > 1e30).all()
    assert (always[[0, 1, 3]] < -1e30).all()


def test_of_very_many_scores_some_rows_are_skipped(rng, monkeypatch):
    """Every other row counts for the means and spreads alone."""
    scores, signs = keywords(rng)
    everything = Calibration.learn(scores, signs)
    monkeypatch.setattr(calibration, "MOST_SCORES", scores.size - 1)
    some = Calibration.learn(scores, signs)
    np.testing.assert_array_equal(some.shift, everything.shift)
    np.testing.assert_array_equal(some.scale, everything.scale)
    other = signs.copy()
    other[1::2] = signs[1::2][::-1]
    assert Calibration.learn(scores, other).slope == some.slope
    monkeypatch.undo()
    assert Calibration.learn(scores, other).slope != pytest.approx(everything.slope, rel=1e-2)


def test_scores_take_the_units_of_others(rng):
    scores, signs = keywords(rng)
    scores[7, 1] = np.nan
    others = 3.0 * rng.normal(size=scores.shape) - 5.0
    found = calibration.in_units_of(scores, others, signs)
    np.testing.assert_allclose(np.nanmean(found, 0), others.mean(0))
    np.testing.assert_allclose(np.nanstd(found, 0), others.std(0))
    for raw, new in zip(scores.T, found.T, strict=True):
        np.testing.assert_array_equal(np.argsort(raw), np.argsort(new))


def test_what_was_passed_is_not_changed(rng):
    scores, signs = keywords(rng)
    before = scores.copy(), signs.copy()
    Calibration.learn(scores, signs).probabilities(scores)
    np.testing.assert_array_equal(scores, before[0])
    np.testing.assert_array_equal(signs, before[1])


def test_what_cannot_be_is_refused(rng):
    scores, signs = keywords(rng)
    with pytest.raises(DataError, match="got scores of 2 labels, but 3 are calibrated"):
        Calibration.learn(scores, signs).probabilities(scores[:, :2])
    with pytest.raises(DataError, match=r"scores of shape \(400, 3\) do not belong to signs of shape \(400, 2\)"):
        Calibration.learn(scores, signs[:, :2])
