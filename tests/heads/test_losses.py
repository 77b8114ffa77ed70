"""Margin losses: their formulas, their derivatives, and the dual that the Huberised hinge comes from."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.errors import DataError
from gramless.heads import HuberizedHinge, SquaredHinge
from tests.oracles import heads as oracle

margins = st.floats(-50, 50)
positive = st.floats(-3, 2).map(lambda e: 10.0**e)
LOSSES = [SquaredHinge(), HuberizedHinge(0.7), HuberizedHinge(np.linspace(0.1, 3.0, 400))]


def at(*values):
    return [torch.tensor([v], dtype=torch.float64) for v in values]


@given(m=margins, C=positive)
def test_the_squared_hinge_is_liblinears(m, C):
    assert SquaredHinge().value(*at(m, C)).item() == pytest.approx(oracle.squared_hinge(m, C), rel=1e-12)


@given(m=margins, C=positive, D=positive)
def test_the_huberized_hinge_has_the_three_pieces_of_the_design(m, C, D):
    found = HuberizedHinge(D).value(*at(m, C)).item()
    assert found == pytest.approx(oracle.huberized_hinge(m, C, D), rel=1e-9, abs=1e-12)


@given(m=margins, C=positive, D=positive)
def test_the_huberized_hinge_is_the_convex_conjugate_of_the_duals_diagonal(m, C, D):
    found = HuberizedHinge(D).value(*at(m, C)).item()
    assert found == pytest.approx(oracle.conjugate(m, C, D), rel=1e-6, abs=1e-9)


@given(m=margins, C=positive, D=positive)
def test_minus_the_slope_is_the_dual_variable_that_attains_the_conjugate(m, C, D):
    a = -HuberizedHinge(D).slope(*at(m, C)).item()
    assert 0 <= a <= C
    assert a * (1 - m) - D * a * a / 2 == pytest.approx(oracle.conjugate(m, C, D), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=["squared hinge", "one width", "a width per sample"])
def test_derivatives_agree_with_autograd_and_nothing_jumps(loss):
    m = torch.linspace(-6.0, 3.0, 400, dtype=torch.float64).requires_grad_()
    box = torch.full((400,), 1.3, dtype=torch.float64)
    (slope,) = torch.autograd.grad(loss.value(m, box).sum(), m, create_graph=True)
    torch.testing.assert_close(loss.slope(m, box), slope)
    (curvature,) = torch.autograd.grad(loss.slope(m, box).sum(), m)
    torch.testing.assert_close(loss.curvature(m, box), curvature)
    with torch.no_grad():
        for function, rate in ((loss.value, 20.0), (loss.slope, 12.0)):
            assert ((function(m + 1e-7, box) - function(m, box)).abs() <= 1e-7 * rate).all()


@pytest.mark.parametrize("kink", [1.0, 1.0 - 2.0 * 0.5])
def test_the_pieces_meet_at_the_kinks_in_value_and_slope(kink):
    loss, box = HuberizedHinge(0.5), torch.tensor(2.0, dtype=torch.float64)
    left, right = (torch.tensor(kink + e, dtype=torch.float64) for e in (-1e-9, 1e-9))
    for function in (loss.value, loss.slope):
        assert function(left, box).item() == pytest.approx(function(right, box).item(), abs=1e-8)


@given(m=margins, C=positive)
def test_a_vanishing_width_leaves_the_hinge(m, C):
    assert HuberizedHinge(1e-12).value(*at(m, C)).item() == pytest.approx(C * max(0.0, 1 - m), abs=1e-6)


@given(m=margins, D=positive)
def test_an_infinite_box_leaves_a_squared_hinge(m, D):
    found = HuberizedHinge(D)
    expected = SquaredHinge()
    for name in ("value", "slope", "curvature"):
        a = getattr(found, name)(*at(m, float("inf"))).item()
        assert a == pytest.approx(getattr(expected, name)(*at(m, 1 / (2 * D))).item(), rel=1e-12)


def test_a_sample_that_weighs_nothing_has_no_loss():
    m, nothing = torch.tensor([-3.0, 0.5, 2.0]), torch.zeros(3)
    for loss in (SquaredHinge(), HuberizedHinge(0.5)):
        for function in (loss.value, loss.slope, loss.curvature):
            assert not function(m, nothing).any()


def test_widths_per_sample_stand_on_the_last_axis():
    width = np.array([0.1, 1.0, 10.0])
    m, box = torch.tensor([[-1.0, 0.0, 0.5], [0.9, -9.0, 1.5]]), torch.tensor([[2.0], [0.3]])
    found = HuberizedHinge(width).value(m, box)
    for (label, sample), value in np.ndenumerate(found.numpy()):
        expected = oracle.huberized_hinge(m[label, sample].item(), box[label, 0].item(), width[sample])
        assert value == pytest.approx(expected, rel=1e-5)
    with pytest.raises(DataError, match="3 widths for 2 samples"):
        HuberizedHinge(width).value(m[:, :2], box)


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan"), float("inf"), np.array([1.0, 0.0]), np.ones((2, 2))])
def test_a_width_that_is_none_is_refused(width):
    with pytest.raises(ValueError, match="width must be positive"):
        HuberizedHinge(width)
