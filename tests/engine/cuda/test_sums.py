"""Sums over features of all pairs, against NumPy in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine.program import Term
from tests.engine.cuda.cases import DEVICE, tensor

pytest.importorskip("triton", reason="the CUDA evaluators are written in Triton")

from gramless.engine.cuda import sums


def expected(term, x, z):
    a, b = x.astype(np.float64)[:, None, :], z.astype(np.float64)[None, :, :]
    if term is Term.MINIMUM:
        return np.minimum(a, b).sum(2)
    if term is Term.CITY_BLOCK:
        return np.abs(a - b).sum(2)
    return ((a - b) ** 2 / np.where(a + b > 0, a + b, 1)).sum(2)


def found(term, x, z):
    out = tensor(np.full((len(x), len(z)), np.nan))
    sums.feature_sums(term, tensor(x), tensor(z), out)
    return out.cpu().numpy()


TERMS = (Term.MINIMUM, Term.CITY_BLOCK, Term.CHI_SQUARE)
each = pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name.lower())


@each
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 9),
    m=st.integers(1, 40),
    d=st.integers(1, 9),
    size=st.sampled_from([1e-20, 1.0, 1e20]),
)
def test_any_shape_size_and_zeros(term, seed, n, m, d, size):
    rng = np.random.default_rng(seed)
    x, z = (size * (rng.random((k, d)) * rng.integers(0, 2, (k, d))).astype(np.float32) for k in (n, m))
    np.testing.assert_allclose(found(term, x, z), expected(term, x, z), rtol=2e-6, atol=2e-7 * size)


@each
@pytest.mark.parametrize("shape", [(128, 128, 4), (129, 33, 5), (3, 130, 8), (2, 3, 1027)])
def test_several_tiles_and_passes(term, shape, rng):
    n, m, d = shape
    x, z = rng.random((n, d), np.float32), rng.random((m, d), np.float32)
    np.testing.assert_allclose(found(term, x, z), expected(term, x, z), rtol=1e-5)


@each
def test_rows_go_in_blocks_when_the_copy_would_be_large(term, rng, monkeypatch):
    monkeypatch.setattr(sums, "COPIED_VALUES", 1)
    x, z = rng.random((130, 3), np.float32), rng.random((2, 3), np.float32)
    np.testing.assert_allclose(found(term, x, z), expected(term, x, z), rtol=2e-6)


def test_negative_features_have_minima_and_distances(rng):
    x, z = rng.normal(size=(5, 6)).astype(np.float32), rng.normal(size=(4, 6)).astype(np.float32)
    for term in TERMS[:2]:
        np.testing.assert_allclose(found(term, x, z), expected(term, x, z), atol=2e-6)


@each
def test_extreme_numbers(term):
    x = np.array([[0.0], [1e-44], [1e-38], [3e38]], np.float32)
    assert np.isfinite(expected(term, x, x)).all()
    np.testing.assert_allclose(found(term, x, x), expected(term, x, x), rtol=2e-6, atol=2e-37)


@each
def test_writes_into_out_and_reads_strided_samples(term, rng):
    x, z = tensor(rng.random((7, 10))), tensor(rng.random((10, 5)))
    out = tensor(np.full((7, 5), np.nan))
    sums.feature_sums(term, x[:, ::2], z[::2].T, out)
    np.testing.assert_allclose(out.cpu(), expected(term, x[:, ::2].cpu().numpy(), z[::2].T.cpu().numpy()), rtol=2e-6)
    assert out.device.type == DEVICE
