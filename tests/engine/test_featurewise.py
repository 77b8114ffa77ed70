"""Sums over features as functions of their columns: the fused and the plain ones, against autograd in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine import FeaturewiseSum, differentiable
from gramless.engine.cpu.slopes import RUN
from gramless.kernels import Statistic
from tests.oracles.featurewise import KINDS, largest_error, samples, sums_and_slopes

NAMES = {
    Statistic.MINIMUM: "minimum",
    Statistic.CITY_BLOCK: "city_block",
    Statistic.CHI_SQUARE: "chi_square",
}
each = pytest.mark.parametrize("statistic", NAMES, ids=lambda statistic: statistic.name.lower())


def computed(statistic, x, z, cotangent):
    z = z.detach().requires_grad_()
    sums = FeaturewiseSum.apply(x, z, statistic)
    (slopes,) = torch.autograd.grad(sums, z, cotangent)
    assert sums.dtype == slopes.dtype == x.dtype
    return sums.detach(), slopes


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(
    n=st.integers(1, 20),
    m=st.integers(1, 20),
    d=st.integers(1, 40),
    seed=st.integers(0, 999),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
)
def test_sums_and_slopes_are_autograds(statistic, dtype, n, m, d, seed, kinds):
    rng = np.random.default_rng(seed)
    x, z = samples(rng, n, d, kinds[0]), samples(rng, m, d, kinds[1])
    cotangent = rng.standard_normal((n, m)).astype(np.float32)
    name = NAMES[statistic]
    exact_sums, exact_slopes = sums_and_slopes(name, x, z, cotangent)
    found = computed(statistic, *(torch.from_numpy(array).to(dtype) for array in (x, z, cotangent)))
    sums, slopes = (part.numpy() for part in found)
    precision = 1.0 if dtype == torch.float32 else 2.0**-29
    np.testing.assert_allclose(sums, exact_sums, rtol=1e-5 * precision, atol=1e-30)
    assert (np.abs(slopes - exact_slopes) <= precision * largest_error(name, cotangent, RUN)).all()


@each
@pytest.mark.parametrize("terms", [1, 70, 1 << 20])
def test_plain_formula_in_chunks_passes_gradcheck(statistic, terms, rng, monkeypatch):
    monkeypatch.setattr(differentiable, "TERMS_AT_ONCE", terms)
    x, z = (torch.from_numpy(rng.permutation(k * 7).reshape(k, 7) + shift) for k, shift in ((6, 1.25), (4, 1.75)))
    assert torch.autograd.gradcheck(lambda z: FeaturewiseSum.apply(x, z, statistic), z.requires_grad_())


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_of_any_stride_are_read_and_left_alone(statistic, dtype, rng):
    x, z = (torch.from_numpy(rng.random((14, 18))).to(dtype) for _ in range(2))
    before = x.clone(), z.clone()
    strided, tight = (x[:, ::2], z.T[::2, :9]), (x[:, ::2].contiguous(), z.T[::2, :9].contiguous())
    expanded = torch.ones((), dtype=dtype).expand(14, 9)  # what a sum sends back
    for one, other in zip(
        computed(statistic, *strided, expanded), computed(statistic, *tight, expanded.contiguous()), strict=True
    ):
        assert torch.equal(one, other)
    assert torch.equal(x, before[0])
    assert torch.equal(z, before[1])


def test_a_step_along_the_slopes_goes_downhill(rng):
    x, z = (torch.from_numpy(rng.random((k, 9), dtype=np.float32)) for k in (30, 4))
    for statistic in NAMES:
        losses = []
        moved = z.clone().requires_grad_()
        for _ in range(2):
            loss = FeaturewiseSum.apply(x, moved, statistic).square().mean()
            (slopes,) = torch.autograd.grad(loss, moved)
            moved = (moved - 1e-3 * slopes).detach().requires_grad_()
            losses.append(loss.item())
        assert losses[1] < losses[0]


def test_only_columns_have_slopes():
    x, z = torch.ones(3, 2, requires_grad=True), torch.ones(4, 2)
    with pytest.raises(AssertionError, match="x requires a gradient"):
        FeaturewiseSum.apply(x, z, Statistic.MINIMUM)
    assert not FeaturewiseSum.apply(x.detach(), z, Statistic.MINIMUM).requires_grad


def test_two_types_are_refused():
    with pytest.raises(AssertionError, match=r"x is torch.float32, z torch.float64"):
        FeaturewiseSum.apply(torch.ones(3, 2), torch.ones(4, 2).double(), Statistic.MINIMUM)
