"""Gradients of the statistics of pairs against autograd in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine.cpu import feature_slopes
from gramless.engine.cpu.slopes import RUN
from gramless.engine.program import Term
from tests.oracles.featurewise import EXAMPLE, KINDS, TERMS, largest_error, samples, sums_and_slopes

each = pytest.mark.parametrize("name", TERMS)


def computed(name, x, z, cotangent):
    out = np.full(z.shape, np.nan, np.float32)
    feature_slopes(Term[name.upper()], x, z, cotangent, out)
    return out


def check(name, x, z, cotangent):
    _, exact = sums_and_slopes(name, x, z, cotangent)
    error = np.abs(computed(name, x, z, cotangent) - exact)
    assert (error <= largest_error(name, cotangent, RUN)).all()


@each
@given(
    n=st.one_of(st.integers(1, 40), st.sampled_from([RUN - 1, RUN, RUN + 1, 300])),
    m=st.integers(1, 30),
    d=st.integers(1, 70),
    seed=st.integers(0, 999),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
)
def test_every_size_with_ties_and_zeros(name, n, m, d, seed, kinds):
    rng = np.random.default_rng(seed)
    x, z = samples(rng, n, d, kinds[0]), samples(rng, m, d, kinds[1])
    check(name, x, z, rng.standard_normal((n, m)).astype(np.float32))


@each
@pytest.mark.parametrize("shape", [(5, 97, 513), (131, 193, 257), (2, 1, 1025), (1, 200, 1)], ids=str)
def test_several_blocks(name, shape, rng):
    n, m, d = shape
    x, z = samples(rng, n, d, "sparse"), samples(rng, m, d, "sparse")
    check(name, x, z, rng.standard_normal((n, m)).astype(np.float32))


@each
@pytest.mark.parametrize("case", EXAMPLE)
def test_slopes_by_hand(name, case):
    x, z, slopes = EXAMPLE[case]
    found = computed(name, *(np.full((1, 1), number, np.float32) for number in (x, z, -2.0)))
    np.testing.assert_allclose(found, -2.0 * slopes[name], rtol=1e-6)


@each
def test_columns_that_are_rows(name, rng):
    x = samples(rng, 9, 37, "any")
    check(name, x, x.copy(), rng.standard_normal((9, 9)).astype(np.float32))


@each
@pytest.mark.parametrize("size", [1e-42, 1e-38, 1e-20, 1e20, 1e38])
def test_tiny_and_huge_numbers(name, size, rng):
    x, z = ((rng.random((k, 33)) * size).astype(np.float32) for k in (7, 5))
    check(name, x, z, rng.standard_normal((7, 5)).astype(np.float32))


def test_minima_and_city_blocks_of_negative_numbers(rng):
    x, z = (rng.standard_normal((k, 100)).astype(np.float32) for k in (13, 9))
    for name in ("minimum", "city_block"):
        check(name, x, z, rng.standard_normal((13, 9)).astype(np.float32))


def test_close_to_a_tie_chi_square_slopes_keep_their_digits():
    x = np.ones((1, 1), np.float32)
    for z in (np.nextafter(x, 2), np.nextafter(x, 0)):
        _, exact = sums_and_slopes("chi_square", x, z, x)
        np.testing.assert_allclose(computed("chi_square", x, z, x), exact, rtol=1e-6)


@each
def test_long_sums_of_equal_numbers_whose_rounding_errors_all_add_up(name):
    x, z = np.full((20_000, 1), 0.2, np.float32), np.full((1, 1), 0.1, np.float32)
    check(name, x, z, np.full((20_000, 1), 0.1, np.float32))


@each
def test_several_threads_give_the_same(name, rng):
    x, z, cotangent = (rng.random(shape, dtype=np.float32) for shape in ((140, 600), (230, 600), (140, 230)))
    one = computed(name, x, z, cotangent)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        np.testing.assert_array_equal(computed(name, x, z, cotangent), one)
    finally:
        torch.set_num_threads(before)


@each
def test_nothing_is_written_outside_of_out(name, rng):
    memory = np.full((9, 21), -7, np.float32)
    x, z, cotangent = (rng.random(shape, dtype=np.float32) for shape in ((6, 21), (7, 21), (6, 7)))
    feature_slopes(Term[name.upper()], x, z, cotangent, memory[1:8])
    assert (memory[[0, 8]] == -7).all()
    np.testing.assert_array_equal(memory[1:8], computed(name, x, z, cotangent))


@each
def test_no_rows_no_slopes(name):
    assert (computed(name, *(np.empty(shape, np.float32) for shape in ((0, 5), (3, 5), (0, 3)))) == 0).all()


@pytest.mark.parametrize(
    "arrays",
    [
        (np.zeros((2, 3)), np.zeros((4, 3), "f"), np.zeros((2, 4), "f"), np.zeros((4, 3), "f")),
        (np.zeros((2, 3), "f"), np.zeros((4, 2), "f"), np.zeros((2, 4), "f"), np.zeros((4, 2), "f")),
        (np.zeros((2, 3), "f"), np.zeros((4, 3), "f"), np.zeros((4, 2), "f"), np.zeros((4, 3), "f")),
        (np.zeros((2, 3), "f"), np.zeros((4, 3), "f"), np.zeros((2, 4), "f"), np.zeros((3, 4), "f")),
        (np.zeros((2, 6), "f")[:, ::2], np.zeros((4, 3), "f"), np.zeros((2, 4), "f"), np.zeros((4, 3), "f")),
        (np.zeros((2, 3), "f"), np.zeros((4, 3), "f"), np.zeros((4, 2), "f").T, np.zeros((4, 3), "f")),
    ],
    ids=["type", "features", "cotangent", "out", "slice", "transposed"],
)
def test_arrays_that_do_not_fit_are_refused(arrays):
    with pytest.raises(AssertionError):
        feature_slopes(Term.MINIMUM, *arrays)
