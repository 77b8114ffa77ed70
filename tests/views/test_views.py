"""Views: what goes in, what comes out, what is refused; and nothing of the caller's is copied without need."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.model_selection import KFold, train_test_split

import gramless as gl
from gramless.views import is_multiview, side_by_side
from gramless.views.views import LEAST_LOSS, loses_nothing, rounded


@pytest.fixture
def blocks(rng):
    return {"a": rng.random((8, 3)), "b": rng.random((8, 2)).astype(np.float32)}


def test_from_a_mapping_a_list_one_array_and_a_dataframe(blocks):
    a, b = blocks.values()
    joined = np.hstack([a, b])
    frame = pd.DataFrame(joined, columns=list("pqrst"))
    for views in (
        gl.Views(blocks),
        gl.Views(joined, columns={"a": slice(0, 3), "b": [3, 4]}),
        gl.Views(joined, columns={"a": [True, True, True, False, False], "b": np.array([3, 4])}),
        gl.Views(frame, columns={"a": ["p", "q", "r"], "b": slice(3, 5)}),
        gl.Views(sparse.csr_matrix(joined), columns={"a": slice(0, 3), "b": [3, 4]}),
        gl.Views(torch.from_numpy(joined), columns={"a": slice(0, 3), "b": [3, 4]}),
        gl.Views(gl.Views(blocks)),
    ):
        assert views.names == ("a", "b")
        assert views.layout == {"a": 3, "b": 2}
        assert views.shape == (8, 5)
        assert len(views) == 8
        np.testing.assert_allclose(np.asarray(views), joined)
    assert gl.Views([a, b]).names == ("view0", "view1")
    assert gl.Views(a).layout == {"view0": 3}


def test_the_callers_memory_is_shared_not_copied(blocks):
    views = gl.Views(blocks)
    assert np.shares_memory(views["a"], blocks["a"])
    assert np.shares_memory(views.tensor("a", torch.float64).numpy(), blocks["a"])
    assert np.shares_memory(views[2:5].tensor("a", torch.float64).numpy(), blocks["a"])
    assert not np.shares_memory(views.dense(torch.float64)["a"], blocks["a"])


@pytest.mark.parametrize("kind", ["dense", "sparse", "torch"])
@pytest.mark.parametrize(
    "rows",
    [slice(1, 6, 2), [3, 0, 3], np.array([5, 1]), np.arange(8) % 2 == 0, torch.tensor([7, 2]), (np.array([1, 2]), ...)],
    ids=["slice", "list", "array", "mask", "tensor", "rows and ellipsis"],
)
def test_rows(blocks, kind, rows):
    make = {"dense": np.asarray, "sparse": sparse.csr_array, "torch": torch.from_numpy}[kind]
    views = gl.Views({name: make(block) for name, block in blocks.items()})
    plain = rows[0] if isinstance(rows, tuple) else rows
    plain = plain.numpy() if isinstance(plain, torch.Tensor) else plain
    np.testing.assert_array_equal(np.asarray(views[rows]), np.asarray(gl.Views(blocks))[plain])


def test_a_single_row_keeps_two_dimensions(blocks):
    views = gl.Views(blocks)
    assert views[3].shape == (1, 5)
    assert views[-1].shape == (1, 5)
    with pytest.raises(IndexError, match="row 8"):
        views[8]
    with pytest.raises(IndexError, match="indexed by rows"):
        views[0, 1]


def test_scikit_learn_splits_them(blocks):
    views = gl.Views(blocks)
    train, test = train_test_split(views, test_size=0.25, random_state=0)
    assert isinstance(train, gl.Views)
    assert (len(train), len(test)) == (6, 2)
    assert sum(len(views[held]) for _, held in KFold(4).split(views)) == 8


def test_float64_only_where_a_block_needs_it():
    def kind(*dtypes):
        return gl.Views([np.ones((2, 2), dtype) for dtype in dtypes]).dtype

    assert kind(np.float32, np.float32) == torch.float32
    assert kind(np.uint8, np.float32) == torch.float32
    assert kind(np.bool_) == torch.float32
    assert kind(np.float16) == torch.float32
    assert kind(np.float32, np.float64) == torch.float64
    assert kind(np.int64) == torch.float64
    assert gl.Views(torch.ones(2, 2, dtype=torch.bfloat16)).dtype == torch.float32


def test_read_only_and_reversed_arrays_are_read(blocks):
    frozen = blocks["a"].copy()
    frozen.setflags(write=False)
    views = gl.Views({"a": frozen, "b": blocks["b"][:, ::-1]})
    np.testing.assert_array_equal(views.tensor("a", torch.float64), frozen)
    np.testing.assert_array_equal(views.tensor("b", torch.float32), blocks["b"][:, ::-1])


def test_what_is_one_array_and_what_is_several(blocks):
    a, b = blocks.values()
    assert is_multiview(blocks)
    assert is_multiview([a, b])
    assert not is_multiview(a)
    assert not is_multiview(a.tolist())
    assert not is_multiview([])
    assert not is_multiview(sparse.dok_array(a))  # a dict by inheritance


def test_columns_side_by_side():
    assert side_by_side({"a": 3, "b": 2}) == {"a": slice(0, 3), "b": slice(3, 5)}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, torch.from_numpy], ids=["dense", "sparse", "torch"])
def test_nan_and_infinity_are_found_and_placed(blocks, bad, make):
    a = blocks["a"].copy()
    a[5, 2] = bad
    with pytest.raises(gl.DataError, match=r"view 'a' contains NaN or infinity, first at row 5, column 2 \(1 in all"):
        gl.Views({"a": make(a), "b": blocks["b"]})


def test_what_cannot_be_is_said(blocks):
    a = blocks["a"]
    with pytest.raises(gl.DataError, match=r"row counts differ: \{'a': 8, 'b': 7\}"):
        gl.Views({"a": a, "b": a[:7]})
    with pytest.raises(gl.DataError, match=r"view 'b' is empty: its shape is \(8, 0\)"):
        gl.Views({"a": a, "b": a[:, :0]})
    with pytest.raises(gl.DataError, match=r"view 'a' is empty: its shape is \(0, 3\)"):
        gl.Views({"a": a[:0]})
    with pytest.raises(gl.DataError, match="must be 2-D"):
        gl.Views({"a": a[:, 0]})
    with pytest.raises(gl.DataError, match="not a number"):
        gl.Views({"a": np.array([["x"]], dtype=object)})
    with pytest.raises(gl.DataError, match="real numbers"):
        gl.Views({"a": a.astype(complex)})
    with pytest.raises(gl.DataError, match="no views"):
        gl.Views({})
    with pytest.raises(gl.DataError, match="got several views"):
        gl.Views(blocks, columns={"a": [0]})
    with pytest.raises(gl.DataError, match=r"columns .* that are not there"):
        gl.Views(a, columns={"a": [0, 9]})


def test_it_prints_what_it_holds(blocks):
    views = gl.Views({"a": blocks["a"], "b": sparse.csr_array(blocks["b"])})
    assert repr(views) == "Views(8 rows: a 3, b 2 sparse)"


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
