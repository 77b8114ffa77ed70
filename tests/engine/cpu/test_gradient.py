"""Backpropagation against PyTorch's, in float64."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine import cpu
from gramless.engine.program import DenseLayer, Function

COEFFICIENTS = (0.5, -1.25, 0.25, 0.125)


def function_of(function, t):
    if function == Function.POLYNOMIAL:
        return sum(c * t**k for k, c in enumerate(COEFFICIENTS))
    functions = {Function.TANH: torch.tanh, Function.SINH: torch.sinh, Function.EXP: torch.exp}
    return functions.get(function, lambda t: t)(t)


def random_problem(seed, n_pairs, widths, functions):
    rng = np.random.default_rng(seed)
    widths = [*widths, 1]
    layers = [
        DenseLayer(torch.from_numpy(rng.uniform(-0.5, 0.5, (b, a)).astype(np.float32)) / a, function, COEFFICIENTS)
        for a, b, function in zip(widths, widths[1:], functions, strict=False)
    ]
    values = rng.uniform(-1, 1, (widths[0], n_pairs)).astype(np.float32)
    return values, rng.standard_normal(n_pairs).astype(np.float32), layers


def expected(values, slopes, layers):
    hidden = torch.from_numpy(values).double()
    weights = [layer.weights.double().requires_grad_() for layer in layers]
    for layer, matrix in zip(layers, weights, strict=True):
        hidden = function_of(layer.function, matrix @ hidden)
    total = (hidden[0] * torch.from_numpy(slopes).double()).sum()
    return [gradient.numpy() for gradient in torch.autograd.grad(total, weights)]


@given(
    st.one_of(st.integers(1, 70), st.sampled_from([255, 256, 257, 1100])),
    st.lists(st.integers(1, 13), min_size=1, max_size=4),
    st.lists(st.sampled_from(list(Function)), min_size=4, max_size=4),
    st.integers(0, 999),
)
def test_gradients_of_every_layer_and_function(n_pairs, widths, functions, seed):
    problem = random_problem(seed, n_pairs, widths, functions)
    found = cpu.network_gradients(*problem)
    for gradient, exact in zip(found, expected(*problem), strict=True):
        assert gradient.dtype == np.float64
        np.testing.assert_allclose(gradient, exact, rtol=1e-5, atol=2e-5 * n_pairs**0.5)


def test_a_wide_network_on_many_pairs():
    problem = random_problem(0, 20_011, [40, 80], [Function.TANH, Function.EXP])
    for gradient, exact in zip(cpu.network_gradients(*problem), expected(*problem), strict=True):
        np.testing.assert_allclose(gradient, exact, rtol=0, atol=1e-6 * np.abs(exact).max())


def test_a_constant_polynomial_has_no_gradient():
    values, slopes, layers = random_problem(1, 30, [3], [Function.IDENTITY])
    constant = DenseLayer(layers[0].weights, Function.POLYNOMIAL, (2.5,))
    assert (cpu.network_gradients(values, slopes, [constant])[0] == 0).all()


def test_large_sinh_has_a_finite_rate():
    values = np.full((1, 3), 80.0, np.float32)
    layer = DenseLayer(torch.ones(1, 1), Function.SINH)
    exact = 3 * 80.0 * np.cosh(80.0)
    np.testing.assert_allclose(cpu.network_gradients(values, np.ones(3, np.float32), [layer])[0], exact, rtol=1e-5)


def test_results_are_reproducible_and_parts_add_up():
    problem = random_problem(2, 3000, [9, 7], [Function.TANH, Function.EXP])
    one = cpu.network_gradients(*problem)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        two, again = cpu.network_gradients(*problem), cpu.network_gradients(*problem)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    for first, second, third in zip(one, two, again, strict=True):
        np.testing.assert_array_equal(second, third)
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)
