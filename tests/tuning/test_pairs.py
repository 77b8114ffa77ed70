"""Which samples count, and which are held out."""

import numpy as np
import pytest
import torch
from scipy import sparse

import gramless as gl
from gramless.tuning.pairs import draw_pairs, find_rows, fresh_rows, hold_out
from tests.tuning.kernels import generator


def test_fresh_rows_are_distinct_and_no_landmarks(rng):
    values = rng.random((8, 3))
    values[5] = values[2]
    values[6, 0] = 0.0
    X = gl.Views({"a": values[:, :1], "b": sparse.csr_matrix(values[:, 1:])})
    landmarks = X[[0, 6]].dense(torch.float64)
    assert fresh_rows(X, landmarks, torch.float64).tolist() == [1, 2, 3, 4, 7]


def test_negative_zero_is_zero():
    X, landmarks = gl.Views(np.array([[-0.0], [1.0]])), gl.Views(np.array([[0.0]]))
    assert fresh_rows(X, landmarks, torch.float64).tolist() == [1]


def test_find_rows_compares_in_the_type_of_the_map(rng):
    among = gl.Views(rng.random((5, 2)).astype(np.float32))
    values = np.asarray(among)[[3, 1, 1]].astype(np.float64)
    values[2] += 1e-12
    X = gl.Views(values)
    assert find_rows(X, among, torch.float32).tolist() == [3, 1, 1]
    assert find_rows(X, among, torch.float64).tolist() == [3, 1, -1]


@pytest.mark.parametrize(("n", "expected"), [(4, 2), (12, 2), (60, 10), (600, 100), (9000, 500)])
def test_a_sixth_is_held_out(n, expected):
    rows = torch.arange(n) + 7
    split = hold_out(rows, generator())
    assert len(split.held_out) == expected
    assert len(split) == n
    assert torch.equal(torch.cat([split.train, split.held_out]).sort().values, rows)


def test_too_few_samples_to_hold_any_out():
    with pytest.raises(gl.DataError, match="3 came"):
        hold_out(torch.arange(3), generator())


def test_pairs_cover_all_of_the_square():
    pairs = draw_pairs(4, 2000, generator())
    counts = torch.bincount(4 * pairs[:, 0] + pairs[:, 1], minlength=16)
    assert pairs.shape == (2000, 2)
    assert counts.min() > 80
    assert counts.max() < 170
