"""Which samples count, which are held out, and the relative error on them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import gramless as gl
from gramless.maps.tuning.held_out import error_gradient, find_rows, fresh_rows, held_out_error, hold_out
from tests.contracts.samples import generator
from tests.oracles.tuning import off_diagonal_error


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


def same_sample(x, z, dtype):
    """Every feature of every view the same number, compared one by one."""
    return all(
        np.array_equal(np.asarray(a, dtype=dtype), np.asarray(b, dtype=dtype)) for a, b in zip(x, z, strict=True)
    )


def naive_find(X, among, dtype):
    matches = [[j for j, z in enumerate(among) if same_sample(x, z, dtype)] for x in X]
    return [found[-1] if found else -1 for found in matches]


def naive_fresh(X, landmarks, dtype):
    kept = []
    for row, x in enumerate(X):
        if not any(same_sample(x, z, dtype) for z in [*landmarks, *(X[i] for i in kept)]):
            kept.append(row)
    return kept


def as_samples(*blocks):
    return list(zip(*blocks, strict=True))


VALUES = {
    "continuous": lambda rng, shape: rng.normal(size=shape),
    "mostly zero": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.02),
    "a few whole numbers": lambda rng, shape: rng.integers(-1, 2, shape).astype(float),
    "one value": lambda rng, shape: np.full(shape, 3.0),
    "zeros of both signs": lambda rng, shape: rng.choice([0.0, -0.0], shape),
    "huge and tiny": lambda rng, shape: rng.choice([1e300, 1e30, 1e-30, 1e-300, 0.0], shape),
    "different in the last column only": lambda rng, shape: np.pad(
        rng.integers(0, 50, (shape[0], 1)).astype(float), ((0, 0), (shape[1] - 1, 0))
    ),
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, torch.from_numpy], ids=["array", "sparse", "tensor"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    n_known=st.integers(1, 8),
    widths=st.tuples(st.integers(1, 60), st.integers(1, 3)),
    double=st.booleans(),
)
@settings(max_examples=8)
def test_rows_are_found_as_by_comparing_every_pair(values, kind, seed, n, n_known, widths, double):
    rng = np.random.default_rng(seed)
    first = VALUES[values](rng, (n + n_known, widths[0]))
    second = rng.integers(0, 2, (n + n_known, widths[1])).astype(float)
    chosen = rng.integers(0, n + n_known, n)  # some known, some repeated
    X = gl.Views({"a": kind(first[chosen]), "b": second[chosen]})
    known = gl.Views({"b": second[:n_known].copy(), "a": first[:n_known].copy()})
    dtype = np.float64 if double else np.float32
    samples, others = as_samples(first[chosen], second[chosen]), as_samples(first[:n_known], second[:n_known])
    torch_dtype = torch.float64 if double else torch.float32
    assert find_rows(X, known, torch_dtype).tolist() == naive_find(samples, others, dtype)
    assert fresh_rows(X, known, torch_dtype).tolist() == naive_fresh(samples, others, dtype)


def test_digests_of_many_rows_are_made_block_by_block(rng, monkeypatch):
    values = rng.integers(0, 2, (50, 6)).astype(np.float64)
    X, known = gl.Views(sparse.csr_matrix(values)), gl.Views(values[:20].copy())
    expected = find_rows(X, known, torch.float64), fresh_rows(X, known, torch.float64)
    monkeypatch.setattr("gramless.maps.tuning.held_out.BLOCK_BYTES", 200)
    assert torch.equal(find_rows(X, known, torch.float64), expected[0])
    assert torch.equal(fresh_rows(X, known, torch.float64), expected[1])


@pytest.mark.parametrize(("n", "expected"), [(4, 2), (12, 2), (60, 10), (600, 100), (9000, 500)])
def test_a_sixth_is_held_out(n, expected):
    rows = torch.arange(n) + 7
    split = hold_out(rows, generator())
    assert len(split.held_out) == expected
    assert len(split) == n
    assert torch.equal(torch.cat([split.train, split.held_out]).sort().values, rows)


def test_too_few_samples_to_hold_any_out():
    with pytest.raises(gl.DataError, match="got 3"):
        hold_out(torch.arange(3), generator())


@pytest.fixture
def maps():
    phi = torch.randn(7, 3, generator=generator(1), dtype=torch.float64)
    gram = torch.randn(7, 7, generator=generator(2), dtype=torch.float64)
    return phi, gram + gram.T


def test_error_is_the_mean_over_pairs_of_different_samples(maps):
    assert held_out_error(*maps) == pytest.approx(off_diagonal_error(*maps), rel=1e-12)


def test_pairs_of_zeros_count_as_exact():
    phi, gram = torch.zeros(3, 2), torch.zeros(3, 3)
    assert held_out_error(phi, gram) == 0.0
    assert torch.equal(error_gradient(phi, gram), phi)


def test_gradient_is_autograds(maps):
    phi, gram = maps
    phi = phi.clone().requires_grad_()
    a = phi @ phi.T
    errors = (a - gram).abs() / (a.abs() + gram.abs())
    mean = (errors.sum() - errors.diagonal().sum()) / (7 * 6)
    (expected,) = torch.autograd.grad(mean, phi)
    torch.testing.assert_close(error_gradient(phi.detach(), gram), expected, rtol=1e-12, atol=1e-15)


def test_arguments_are_left_alone(maps):
    kept = [tensor.clone() for tensor in maps]
    held_out_error(*maps)
    error_gradient(*maps)
    assert all(torch.equal(a, b) for a, b in zip(maps, kept, strict=True))
