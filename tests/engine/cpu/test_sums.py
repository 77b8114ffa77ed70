"""Statistics of pairs against NumPy in float64, one term at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine.cpu import encode, feature_sums
from gramless.engine.program import Term

FLOATS = {
    Term.MINIMUM: np.minimum,
    Term.CITY_BLOCK: lambda x, z: np.abs(x - z),
    Term.CHI_SQUARE: lambda x, z: (x - z) ** 2 / np.maximum(x + z, np.finfo(np.float32).tiny),
}
each = pytest.mark.parametrize("term", FLOATS, ids=lambda term: term.name.lower())
sizes = st.integers(1, 70)
lengths = st.one_of(st.integers(1, 70), st.sampled_from([127, 128, 2047, 2048, 2049, 4100]))


def computed(term, x, z, dtype=np.float32):
    out = np.full((len(x), len(z)), -7, dtype)
    feature_sums(term, x, z, out)
    return out


def expected(term, x, z):
    return np.stack([FLOATS[term](row, z.astype(np.float64)).sum(1) for row in x.astype(np.float64)])


@each
@given(n=sizes, m=sizes, d=lengths, seed=st.integers(0, 999), zeros=st.floats(0, 1))
def test_every_size(term, n, m, d, seed, zeros):
    rng = np.random.default_rng(seed)
    x, z = (rng.exponential(size=(k, d)).astype(np.float32) * (rng.random((k, d)) >= zeros) for k in (n, m))
    x, z = x.astype(np.float32), z.astype(np.float32)
    np.testing.assert_allclose(computed(term, x, z), expected(term, x, z), rtol=1e-5, atol=1e-30)


@each
@given(n=sizes, m=sizes, d=lengths, seed=st.integers(0, 999), zeros=st.floats(0, 1))
def test_every_size_in_float64(term, n, m, d, seed, zeros):
    rng = np.random.default_rng(seed)
    x, z = (rng.exponential(size=(k, d)) * (rng.random((k, d)) >= zeros) for k in (n, m))
    np.testing.assert_allclose(computed(term, x, z, np.float64), expected(term, x, z), rtol=2e-14, atol=1e-300)


@each
@pytest.mark.parametrize("size", [1e-38, 1e-20, 1.0, 1e20, 1e35])
def test_tiny_and_huge_numbers(term, size, rng):
    x, z = ((rng.random((k, 33)) * size).astype(np.float32) for k in (7, 5))
    np.testing.assert_allclose(computed(term, x, z), expected(term, x, z), rtol=1e-5, atol=2e-44)


def test_city_blocks_of_negative_numbers(rng):
    x, z = (rng.standard_normal((k, 100)).astype(np.float32) for k in (13, 9))
    found, exact = computed(Term.CITY_BLOCK, x, z), expected(Term.CITY_BLOCK, x, z)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)


@each
@pytest.mark.parametrize("number", [0.1, 0.7, 1 / 3])
def test_long_sums_of_equal_numbers_whose_rounding_errors_all_add_up(term, number):
    x = np.full((2, 20_000), number, np.float32)
    z = np.full((1, 20_000), 2 * number, np.float32)
    np.testing.assert_allclose(computed(term, x, z), expected(term, x, z), rtol=1e-5)


@each
def test_equal_rows_have_no_distance_and_zeros_no_statistic(term, rng):
    x = rng.random((5, 37)).astype(np.float32)
    diagonal = np.diag(computed(term, x, x))
    if term is Term.MINIMUM:
        np.testing.assert_allclose(diagonal, x.sum(1), rtol=1e-6)
    else:
        assert (diagonal == 0).all()
    zeros = np.zeros((3, 37), np.float32)
    assert (computed(term, zeros, zeros) == 0).all()


@given(n=sizes, m=sizes, d=lengths, seed=st.integers(0, 999), largest=st.sampled_from([1, 100, 255]))
def test_codes_are_exact(n, m, d, seed, largest):
    rng = np.random.default_rng(seed)
    x, z = (rng.integers(0, largest + 1, (k, d), dtype=np.uint8) for k in (n, m))
    exact = np.stack([np.minimum(row, z).sum(1, dtype=np.int64) for row in x])
    np.testing.assert_array_equal(computed(Term.MINIMUM_OF_CODES, x, z, np.int32), exact)


def test_long_sums_of_the_largest_code():
    x = np.full((2, 100_000), 255, np.uint8)
    assert (computed(Term.MINIMUM_OF_CODES, x, x, np.int32) == 25_500_000).all()


def test_nothing_is_written_outside_of_out(rng):
    memory = np.full((9, 5), -7, np.float32)
    x, z = rng.random((7, 20), dtype=np.float32), rng.random((5, 20), dtype=np.float32)
    feature_sums(Term.MINIMUM, x, z, memory[1:8])
    assert (memory[[0, 8]] == -7).all()
    assert (memory[1:8] >= 0).all()


def test_infinity_is_no_catastrophe():
    x, z = np.full((1, 20), np.inf, np.float32), np.ones((1, 20), np.float32)
    assert computed(Term.MINIMUM, x, z) == 20
    assert computed(Term.CITY_BLOCK, x, z) == np.inf


def test_several_threads_give_the_same(rng):
    x, z = rng.random((200, 40), dtype=np.float32), rng.random((150, 40), dtype=np.float32)
    one = computed(Term.MINIMUM, x, z)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        np.testing.assert_array_equal(computed(Term.MINIMUM, x, z), one)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("x", "z", "out"),
    [
        (np.zeros((2, 3)), np.zeros((4, 3)), np.zeros((2, 4), "f")),
        (np.zeros((2, 3), "f"), np.zeros((4, 2), "f"), np.zeros((2, 4), "f")),
        (np.zeros((2, 3), "f"), np.zeros((4, 3), "f"), np.zeros((4, 2), "f")),
        (np.zeros((2, 6), "f")[:, ::2], np.zeros((4, 3), "f"), np.zeros((2, 4), "f")),
        (np.zeros((2, 3), "f"), np.zeros((4, 3), "f"), np.zeros((4, 2), "f").T),
    ],
    ids=["type", "features", "out", "slice", "transposed"],
)
def test_arrays_that_do_not_fit_are_refused(x, z, out):
    with pytest.raises(AssertionError):
        feature_sums(Term.MINIMUM, x, z, out)


def test_codes_are_the_nearest_levels(rng):
    x = np.concatenate([rng.random((7, 33)) * 300, np.zeros((1, 33)), np.full((1, 33), 1e30)]).astype(np.float32)
    expected = np.clip(np.floor(x.astype(np.float64) / 1.25 + 0.5), 0, 255)
    found = encode(x, 1.25)
    assert found.dtype == np.uint8
    assert np.abs(found - expected).max() <= 1  # halfway cases may go either way
    assert (found != expected).mean() < 0.02
