"""Weights before learning."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.network import initial_weights, spread_gains

WIDTHS, GAINS = (4, 3, 2, 1), (1.0, 2.0, 5.0)


def draw(spec, seed=0):
    gains = [spread_gains(gain, n_units) for gain, n_units in zip(GAINS, WIDTHS[1:], strict=True)]
    return initial_weights(spec, WIDTHS, gains, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("spec", ["uniform", "random"])
def test_rows_are_non_negative_and_sum_to_the_gain(spec):
    for matrix, shape, gain in zip(draw(spec), [(3, 4), (2, 3), (1, 2)], GAINS, strict=True):
        assert matrix.shape == shape
        assert matrix.min() >= 0
        np.testing.assert_allclose(matrix.sum(1), gain)


def test_gains_are_spread_evenly_on_a_logarithmic_scale():
    np.testing.assert_allclose(spread_gains((0.1, 10.0), 3)[:, 0], [0.1, 1.0, 10.0])
    np.testing.assert_allclose(spread_gains(2.0, 3)[:, 0], 2.0)
    np.testing.assert_allclose(spread_gains((0.5, 2.0), 1), [[0.5]])
    for wrong in (0.0, -1.0, (2.0, 1.0), (0.0, 1.0)):
        with pytest.raises(ValueError, match="gain must be positive"):
            spread_gains(wrong, 3)


def test_random_rows_differ_and_follow_the_seed():
    a, b, c = draw("random"), draw("random"), draw("random", seed=1)
    assert torch.equal(a[0], b[0])
    assert not torch.equal(a[0], c[0])
    assert not torch.equal(a[0][0], a[0][1])


def test_given_matrices_are_taken_as_they_are():
    given = [np.full((3, 4), 0.3), np.full((2, 3), 0.1), np.ones((1, 2))]
    for matrix, expected in zip(draw(given), given, strict=True):
        np.testing.assert_array_equal(matrix, expected)


def test_wrong_shapes_and_names_say_what_is_needed():
    with pytest.raises(gl.DataError, match=r"shapes \[\(3, 4\), \(2, 3\), \(1, 2\)\]"):
        draw([np.ones((3, 4))])
    with pytest.raises(ValueError, match="'random', 'uniform'"):
        draw("glorot")
