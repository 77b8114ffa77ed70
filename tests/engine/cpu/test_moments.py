"""Sums over features against NumPy in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine.cpu import moments


@given(n=st.integers(1, 40), d=st.one_of(st.integers(1, 70), st.just(3001)), seed=st.integers(0, 999))
def test_sums_squares_and_extremes_of_rows(n, d, seed):
    x = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    exact = x.astype(np.float64)
    sums, squares, minima, maxima = moments([torch.from_numpy(x)])[0]
    np.testing.assert_allclose(sums, exact.sum(1), atol=1e-6 * np.abs(exact).sum(1).max())
    np.testing.assert_allclose(squares, np.square(exact).sum(1), rtol=1e-5)
    np.testing.assert_array_equal(minima, x.min(1))
    np.testing.assert_array_equal(maxima, x.max(1))


@pytest.mark.parametrize("place", [0, 7, 16])
def test_one_negative_number_is_found_wherever_it_is(place):
    x = np.ones((3, 17), np.float32)
    x[1, place] = -0.25
    assert moments([torch.from_numpy(x)])[0, 2].tolist() == [1.0, -0.25, 1.0]
    assert moments([torch.from_numpy(-x)])[0, 3].tolist() == [-1.0, 0.25, -1.0]
