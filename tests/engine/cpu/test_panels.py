"""Sums over features from panels of columns against NumPy in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from gramless.engine.cpu import in_panels
from gramless.engine.cpu.pair_tiles import CHI_SQUARE, CITY_BLOCK, MINIMUM, PRODUCT
from gramless.engine.cpu.panels import SPAN, add_panel
from gramless.engine.cpu.tiles import TILE


def loop(term):
    @njit
    def add(x, z, out):
        for panel in range(len(z)):
            place = np.intp(out[panel].ctypes.data)
            panel_z = np.intp(z[panel].ctypes.data)
            add_panel(term, np.intp(x.ctypes.data), panel_z, place, len(x), x.shape[1], x[0, 0])

    return add


TERMS = {
    "product": (loop(PRODUCT), lambda x, z: x * z),
    "minimum": (loop(MINIMUM), np.minimum),
    "city-block": (loop(CITY_BLOCK), lambda x, z: np.abs(x - z)),
    "chi-square": (loop(CHI_SQUARE), lambda x, z: (x - z) ** 2 / (x + z)),
}
each = pytest.mark.parametrize("term", TERMS)


def computed(term, x, z):
    out = np.full((-(-len(z) // TILE), len(x), TILE), np.nan, x.dtype)
    TERMS[term][0](x, in_panels(z), out)
    return np.hstack(list(out))[:, : len(z)]


def expected(term, x, z):
    return TERMS[term][1](x[:, None, :].astype(float), z.astype(float)).sum(2)


@each
@given(
    n=st.integers(1, 20),
    m=st.integers(1, 150),
    d=st.one_of(st.integers(1, 40), st.sampled_from([SPAN - 1, SPAN, SPAN + 1, 3 * SPAN + 5])),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 999),
)
def test_every_size(term, n, m, d, dtype, seed):
    rng = np.random.default_rng(seed)
    x, z = rng.random((n, d)).astype(dtype) + 0.01, rng.random((m, d)).astype(dtype) + 0.01
    tolerance = (SPAN + d / SPAN + 5) * np.finfo(dtype).eps / 2
    exact = expected(term, x, z)
    rounding = tolerance * np.maximum(exact, 1e-3)  # of differences, what is left of numbers around one
    assert (np.abs(computed(term, x, z) - exact) <= rounding).all()


@each
def test_rows_alone_have_the_same_bits(term, rng):
    x, z = rng.random((13, 300), dtype=np.float32), rng.random((70, 300), dtype=np.float32)
    alone = np.vstack([computed(term, row[None], z) for row in x])
    np.testing.assert_array_equal(computed(term, x, z), alone)


def test_panels_begin_at_cache_lines_and_end_with_zeros(rng):
    z = rng.random((70, 9), dtype=np.float32)
    panels = in_panels(z)
    assert panels.shape == (2, 9, TILE)
    assert panels.ctypes.data % 64 == 0
    np.testing.assert_array_equal(np.hstack(list(panels)).T[:70], z)
    assert not np.hstack(list(panels)).T[70:].any()
