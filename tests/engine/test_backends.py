"""Forward and backward on elementary values: the reference in chunks and the fused passes, against autograd."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from gramless.engine import network_gradients, network_values
from gramless.network import Layer, make_activation


def whole(layers, values, slopes):
    """The network's values and the gradients of sum slopes * values, in float64 and in one piece."""
    weights = [layer.weights.double().clone().requires_grad_() for layer in layers]
    hidden = values.double().flatten(1)
    for layer, weight in zip(layers, weights, strict=True):
        hidden = layer.activation(weight @ hidden)
    gradients = torch.autograd.grad(hidden[0], weights, slopes.double().flatten())
    return hidden[0].detach().reshape(values.shape[1:]), gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("hidden", [(), (7,), (5, 3)], ids=str)
@pytest.mark.parametrize("activation", ["tanh", "sinh", "exp", "identity", (0.1, 1.0, 0.3)], ids=str)
def test_passes_are_autograds(rng, monkeypatch, dtype, hidden, activation):
    monkeypatch.setattr("gramless.network.reference.CPU_PAIRS", 12)
    units = (6, *hidden, 1)
    layers = [Layer(rng.random((h, q)) / q, make_activation(activation)) for q, h in pairwise(units)]
    values = torch.from_numpy(rng.random((6, 13, 17))).to(dtype)
    slopes = torch.from_numpy(rng.standard_normal((13, 17))).to(dtype)
    expected, gradients = whole(layers, values, slopes)
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(network_values(layers, values).double(), expected, **close)
    for found, gradient in zip(network_gradients(layers, values, slopes), gradients, strict=True):
        assert found.dtype == torch.float64
        torch.testing.assert_close(found, gradient, rtol=close["rtol"], atol=close["atol"] * values.numel() ** 0.5)


def test_inputs_are_left_alone(rng):
    layers = [Layer(rng.random((1, 4)), make_activation("exp"))]
    values = torch.from_numpy(rng.random((4, 9))).float()
    before = values.clone()
    network_values(layers, values)
    network_gradients(layers, values, torch.ones(9))
    assert np.array_equal(values, before)
