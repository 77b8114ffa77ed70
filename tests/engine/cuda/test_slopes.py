"""Gradients of the statistics of pairs, against autograd in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine.program import Term
from tests.engine.cuda.cases import tensor
from tests.oracles.featurewise import EXAMPLE, KINDS, TERMS, largest_error, samples, sums_and_slopes

pytest.importorskip("triton", reason="the CUDA evaluators are written in Triton")

from gramless.engine.cuda import slopes

each = pytest.mark.parametrize("name", TERMS)


def computed(name, x, z, cotangent):
    out = tensor(np.full(z.shape, np.nan))
    slopes.feature_slopes(Term[name.upper()], tensor(x), tensor(z), tensor(cotangent), out)
    return out.cpu().numpy()


def check(name, x, z, cotangent):
    _, exact = sums_and_slopes(name, x, z, cotangent)
    error = np.abs(computed(name, x, z, cotangent) - exact)
    assert (error <= largest_error(name, cotangent, slopes.RUN)).all()


@each
@given(
    n=st.integers(1, 9),
    m=st.integers(1, 40),
    d=st.integers(1, 70),
    seed=st.integers(0, 999),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    size=st.sampled_from([1e-20, 1.0, 1e20]),
)
def test_every_size_with_ties_and_zeros(name, n, m, d, seed, kinds, size):
    rng = np.random.default_rng(seed)
    x, z = (np.float32(size) * samples(rng, k, d, kind) for k, kind in zip((n, m), kinds, strict=True))
    check(name, x, z, rng.standard_normal((n, m)).astype(np.float32))


@each
@pytest.mark.parametrize("run", [4, 8])
def test_several_programs_and_runs(name, run, rng, monkeypatch):
    monkeypatch.setattr(slopes, "RUN", run)
    x, z = samples(rng, 18, 67, "sparse"), samples(rng, 65, 67, "sparse")
    check(name, x, z, rng.standard_normal((18, 65)).astype(np.float32))


@each
@pytest.mark.parametrize("case", EXAMPLE)
def test_slopes_by_hand(name, case):
    x, z, slopes = EXAMPLE[case]
    found = computed(name, *(np.full((1, 1), number, np.float32) for number in (x, z, -2.0)))
    np.testing.assert_allclose(found, -2.0 * slopes[name], rtol=1e-6)


def test_minima_and_city_blocks_of_negative_numbers(rng):
    x, z = (rng.standard_normal((k, 10)).astype(np.float32) for k in (7, 5))
    for name in ("minimum", "city_block"):
        check(name, x, z, rng.standard_normal((7, 5)).astype(np.float32))


def test_tensors_that_do_not_fit_are_refused(rng):
    x, z, cotangent, out = (tensor(rng.random(shape)) for shape in ((4, 3), (4, 3), (4, 4), (4, 3)))
    for given_ in [
        (x.double(), z, cotangent, out),
        (x[:, :2], z, cotangent, out),
        (x[:3], z, cotangent, out),
        (x, z, cotangent.T, out),
        (x, z, cotangent, out.flatten()),
    ]:
        with pytest.raises(AssertionError):
            slopes.feature_slopes(Term.MINIMUM, *given_)
