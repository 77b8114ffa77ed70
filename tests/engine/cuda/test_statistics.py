"""Sums over features of all pairs, against NumPy in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.cuda.cases import DEVICE, tensor

pytest.importorskip("triton", reason="the CUDA evaluators are written in Triton")

from gramless.engine.cuda import statistics


def expected(name, x, z):
    a, b = x.astype(np.float64)[:, None, :], z.astype(np.float64)[None, :, :]
    if name == "minimum_sums":
        return np.minimum(a, b).sum(2)
    if name == "city_block_distances":
        return np.abs(a - b).sum(2)
    return ((a - b) ** 2 / np.where(a + b > 0, a + b, 1)).sum(2)


def found(name, x, z):
    return getattr(statistics, name)(tensor(x), tensor(z)).cpu().numpy()


NAMES = ("minimum_sums", "city_block_distances", "chi_square_distances")
by_name = pytest.mark.parametrize("name", NAMES)


@by_name
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 9),
    m=st.integers(1, 40),
    d=st.integers(1, 9),
    size=st.sampled_from([1e-20, 1.0, 1e20]),
)
def test_any_shape_size_and_zeros(name, seed, n, m, d, size):
    rng = np.random.default_rng(seed)
    x, z = (size * (rng.random((k, d)) * rng.integers(0, 2, (k, d))).astype(np.float32) for k in (n, m))
    np.testing.assert_allclose(found(name, x, z), expected(name, x, z), rtol=2e-6, atol=2e-7 * size)


@by_name
@pytest.mark.parametrize("shape", [(128, 128, 4), (129, 33, 5), (3, 130, 8), (2, 3, 1027)])
def test_several_tiles_and_passes(name, shape, rng):
    n, m, d = shape
    x, z = rng.random((n, d), np.float32), rng.random((m, d), np.float32)
    np.testing.assert_allclose(found(name, x, z), expected(name, x, z), rtol=1e-5)


@by_name
def test_rows_go_in_blocks_when_the_copy_would_be_large(name, rng, monkeypatch):
    monkeypatch.setattr(statistics, "COPIED_VALUES", 1)
    x, z = rng.random((130, 3), np.float32), rng.random((2, 3), np.float32)
    np.testing.assert_allclose(found(name, x, z), expected(name, x, z), rtol=2e-6)


def test_negative_features_have_minima_and_distances(rng):
    x, z = rng.normal(size=(5, 6)).astype(np.float32), rng.normal(size=(4, 6)).astype(np.float32)
    for name in NAMES[:2]:
        np.testing.assert_allclose(found(name, x, z), expected(name, x, z), atol=2e-6)


@by_name
def test_extreme_numbers(name):
    x = np.array([[0.0], [1e-44], [1e-38], [3e38]], np.float32)
    assert np.isfinite(expected(name, x, x)).all()
    np.testing.assert_allclose(found(name, x, x), expected(name, x, x), rtol=2e-6, atol=2e-37)


@by_name
def test_writes_into_out_and_reads_strided_samples(name, rng):
    x, z = tensor(rng.random((7, 10))), tensor(rng.random((10, 5)))
    out = tensor(np.full((7, 5), np.nan))
    assert getattr(statistics, name)(x[:, ::2], z[::2].T, out) is out
    np.testing.assert_allclose(out.cpu(), expected(name, x[:, ::2].cpu().numpy(), z[::2].T.cpu().numpy()), rtol=2e-6)
    assert out.device.type == DEVICE
