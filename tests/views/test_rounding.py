"""float64 in float32: against what every column loses, counted by hand, and on hostile numbers."""

import numpy as np
import pytest
import torch
from scipy import sparse

import gramless as gl
from gramless.views.rounding import LEAST_LOSS, loses_nothing, rounded


def test_ordinary_columns_are_rounded_and_zeros_stay_zeros(rng):
    X = rng.normal(size=(50, 3))
    X[0] = 0.0
    found = rounded(gl.Views({"a": X, "b": rng.integers(0, 9, size=(50, 2))}))
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found["a"], X.astype(np.float32))
    assert found.names == ("a", "b")


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 1e6, 1e8])
def test_a_column_far_from_zero_is_rounded_only_while_its_spread_is_kept(rng, offset):
    X = rng.normal(size=(9_000, 1)) + offset
    lost = max(abs(float(np.float32(x)) - x) for x in X[:, 0].tolist())
    assert loses_nothing(X) == (lost <= LEAST_LOSS * (X.max() - X.min()))
    assert loses_nothing(X) == (offset < 1e4)


def test_float32_tensors_and_sparse_views(rng):
    X = rng.random((20, 4))
    given = gl.Views({"a": X.astype(np.float32)})
    assert rounded(given) is given
    tensors = gl.Views({"a": torch.from_numpy(X)})
    assert rounded(tensors) is tensors
    found = rounded(gl.Views({"a": sparse.csr_array(X * (X > 0.5))}))
    assert sparse.issparse(found["a"])
    assert found.dtype == torch.float32


@pytest.mark.parametrize("value", [1e300, 1e39, 1e-300])
def test_huge_and_tiny_numbers_are_kept(rng, value):
    X = rng.normal(size=(20, 2)) * [1.0, value]
    assert rounded(gl.Views({"a": X})).dtype == torch.float64


def test_constant_columns_and_one_row():
    assert rounded(gl.Views({"a": np.full((5, 2), 0.1)})).dtype == torch.float32
    assert rounded(gl.Views({"a": np.array([[0.1, 3.0]])})).dtype == torch.float32
