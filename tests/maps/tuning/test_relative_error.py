"""The error that judges, and its gradient, against loops and autograd."""

import pytest
import torch

from gramless.maps.tuning.held_out import error_gradient, held_out_error
from tests.maps.tuning.kernels import generator
from tests.oracles.tuning import off_diagonal_error


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
