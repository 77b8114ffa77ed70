"""Margin losses: their formulas and their derivatives; and those of the loss that tests of solvers have beside them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.heads import LeastSquares, SquaredHinge
from tests.heads.huberized import HuberizedHinge
from tests.oracles import heads as oracle

margins = st.floats(-50, 50)
positive = st.floats(-3, 2).map(lambda e: 10.0**e)
LOSSES = [SquaredHinge(), LeastSquares(), HuberizedHinge(0.7), HuberizedHinge(np.linspace(0.1, 3.0, 400))]


def at(*values):
    return [torch.tensor([v], dtype=torch.float64) for v in values]


@given(m=margins, C=positive)
def test_the_squared_hinge_is_liblinears(m, C):
    assert SquaredHinge().value(*at(m, C)).item() == pytest.approx(oracle.squared_hinge(m, C), rel=1e-12)


@given(m=margins, C=positive)
def test_least_squares_are_of_the_answer_to_the_sign(m, C):
    assert LeastSquares().value(*at(m, C)).item() == pytest.approx(C * (m - 1.0) ** 2, rel=1e-12)


@given(m=margins, C=positive, D=positive)
def test_the_huberized_hinge_has_three_pieces(m, C, D):
    found = HuberizedHinge(D).value(*at(m, C)).item()
    assert found == pytest.approx(oracle.huberized_hinge(m, C, D), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=["squared hinge", "least squares", "one width", "a width per sample"])
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


def test_a_sample_that_weighs_nothing_has_no_loss():
    m, nothing = torch.tensor([-3.0, 0.5, 2.0]), torch.zeros(3)
    for loss in (SquaredHinge(), LeastSquares(), HuberizedHinge(0.5)):
        for function in (loss.value, loss.slope, loss.curvature):
            assert not function(m, nothing).any()
