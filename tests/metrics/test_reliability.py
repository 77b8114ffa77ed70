"""Reliability: counted by hand, one answer at a time."""

import numpy as np
import pytest

from gramless.errors import DataError
from gramless.metrics import expected_calibration_error, reliability


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
    assert len(reliability([[1.0, 1.0]], [[1, 0]], n_bins=1)) == 1


def test_what_is_no_probability_is_refused():
    with pytest.raises(DataError, match="between 0 and 1"):
        reliability([[1.5]], [[1]])
    with pytest.raises(DataError, match="NaN"):
        reliability([[np.nan]], [[1]])
    with pytest.raises(ValueError, match="n_bins=0"):
        reliability([[0.5]], [[1]], n_bins=0)
