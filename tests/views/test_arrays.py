"""What a block of features may be: arrays of every kind are read right, or refused in words; none is ever changed."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import gramless as gl


@pytest.fixture
def x(rng):
    return rng.random((6, 3))


def damaged(format_, change):
    made = sparse.csr_array(np.arange(12.0).reshape(4, 3) + 1).asformat(format_)
    change(made)
    return made


def put(part, place, value):
    def change(matrix):
        getattr(matrix, part)[place] = value

    return change


@pytest.mark.parametrize(
    "matrix",
    [
        damaged("csr", put("indices", 0, 10**8)),
        damaged("csr", put("indices", 0, -(10**6))),
        damaged("csr", put("indptr", -1, 10**8)),
        damaged("csr", put("indptr", 1, 10**8)),
        damaged("csc", put("indices", 0, 10**8)),
        damaged("coo", lambda m: m.coords[0].__setitem__(0, 10**8)),
        damaged("coo", lambda m: m.coords[1].__setitem__(0, -1)),
    ],
    ids=["csr beyond", "csr before", "csr end", "csr starts", "csc beyond", "coo beyond", "coo before"],
)
def test_a_damaged_sparse_matrix_is_refused_before_scipy_follows_it(matrix):
    """scipy would write outside of its memory."""
    network = gl.DeepKernelNetwork("linear", (), learning=None)
    for use in (gl.Views, network.fit, lambda m: gl.in_blocks(m)):
        with pytest.raises(gl.DataError, match="damaged"):
            use(matrix)


@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_sparse_format_holds_the_same_numbers(format_, x):
    matrix = sparse.csr_array(x).asformat(format_)
    np.testing.assert_array_equal(np.asarray(gl.Views(matrix)), x)


def test_unsorted_and_repeated_entries_are_summed_in_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    matrix = sparse.csr_array((data, indices, indptr), shape=(2, 3))
    views = gl.Views(matrix)
    np.testing.assert_array_equal(np.asarray(views), [[2.0, 0.0, 5.0], [0.0, 8.0, 0.0]])
    gl.DeepKernelNetwork("intersection", (), learning=None).fit(matrix).kernel_(matrix)
    assert matrix.data.tolist() == [1.0, 2.0, 4.0, 8.0]
    assert matrix.indices.tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda t: t.to_sparse(), "sparse torch tensor"),
        (lambda t: t.to_sparse_csr(), "sparse torch tensor"),
        (lambda t: t.to("meta"), "meta device"),
        (lambda t: torch.quantize_per_tensor(t.float(), 0.1, 0, torch.qint8), "quantised"),
        (lambda t: t.to(torch.complex64), "real numbers"),
        (lambda t: t.to(torch.float8_e4m3fn), "float8"),
        (lambda t: torch.nested.nested_tensor([t[0], t[1]]), "nested"),
    ],
    ids=["coo", "csr", "meta", "quantised", "complex", "float8", "nested"],
)
def test_tensors_without_plain_numbers_are_refused_in_words(make, said, x):
    for use in (
        gl.Views,
        gl.DeepKernelNetwork("linear", (), learning=None).fit,
        gl.in_blocks,
        lambda t: gl.Views([t, t]),
    ):
        with pytest.raises(gl.DataError, match=said):
            use(make(torch.from_numpy(x)))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.T.contiguous().T,
        lambda t: t.repeat_interleave(2, 0)[::2],
        lambda t: t[:1].expand(6, -1),
        lambda t: t.clone().requires_grad_(),
        lambda t: torch.complex(t, -t).conj().imag,
        lambda t: t.bfloat16(),
        lambda t: t.half(),
    ],
    ids=["transposed", "strided", "expanded", "grad", "negative bit", "bfloat16", "half"],
)
def test_tensors_of_any_strides_are_read_right(make, x):
    tensor = make(torch.from_numpy(x))
    plain = np.array(tensor.detach().double().tolist())
    views = gl.Views(tensor)
    np.testing.assert_array_equal(np.asarray(views), plain)
    np.testing.assert_array_equal(views.tensor("view0", torch.float64), plain)
    kernel = gl.DeepKernelNetwork("linear", (), learning=None, random_state=0).fit(plain).kernel_
    np.testing.assert_allclose(kernel(tensor), kernel(plain), rtol=1e-4)


def test_masked_arrays_count_only_where_nothing_is_masked(x):
    whole, holed = np.ma.masked_array(x, mask=False), np.ma.masked_array(x, mask=x > 0.9 * x.max())
    np.testing.assert_array_equal(np.asarray(gl.Views(whole)), x)
    network = gl.DeepKernelNetwork("linear", (), learning=None)
    for use in (gl.Views, network.fit, network.fit(x).kernel_, lambda m: gl.Views(m, columns={"a": [0, 1, 2]})):
        with pytest.raises(gl.DataError, match="are masked"):
            use(holed)


def test_structured_arrays_are_named_as_such():
    table = np.zeros(4, dtype=[("height", "f8"), ("weight", "f8")])
    for use in (gl.Views, gl.DeepKernelNetwork("linear", (), learning=None).fit):
        with pytest.raises(gl.DataError, match="structured array with the fields height, weight"):
            use(table)


def test_numbers_in_other_byte_orders_and_lengths(x):
    for dtype in (">f8", ">f4", "g", "<f2"):
        array = x.astype(dtype)
        np.testing.assert_array_equal(gl.Views(array).tensor("view0", torch.float64), array.astype(float))
    with pytest.raises(gl.DataError, match="infinity"):
        gl.Views(np.full((2, 2), np.finfo(np.longdouble).max))  # finite there, and nowhere else


def test_views_whose_names_become_the_same_are_refused(x):
    with pytest.raises(gl.DataError, match="told apart by their names"):
        gl.Views({1: x, "1": x})


def test_columns_by_a_name_that_several_have_are_refused(x):
    frame = pd.DataFrame(x, columns=["p", "q", "p"])
    network = gl.DeepKernelNetwork("linear", (), learning=None, views={"a": ["p"], "b": ["q"]})
    for use in (lambda f: gl.Views(f, columns={"a": ["p"], "b": ["q"]}), network.fit):
        with pytest.raises(gl.DataError, match="several columns are named 'p'"):
            use(frame)
    assert gl.Views(frame, columns={"b": "q"}).layout == {"b": 1}


@pytest.mark.parametrize("columns", [5, "a", [0], {"a": 0.5}, {"a": None}, {"a": [0.5]}, {"a": object()}])
def test_columns_that_cannot_be_are_refused_in_words(columns, x):
    with pytest.raises(gl.DataError, match="columns"):
        gl.Views(x, columns=columns)
