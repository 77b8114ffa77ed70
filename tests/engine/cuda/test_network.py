"""Fused elementary kernels and layers, against NumPy in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gramless.engine.program import DenseLayer, Elementary, Function
from gramless.kernels import Operation
from gramless.network import reference
from tests.engine.cuda import oracle
from tests.engine.cuda.cases import layers, pairs, tensor

pytest.importorskip("triton", reason="the CUDA evaluators are written in Triton")

from gramless.engine.cuda import given_values, network


def plain_sides(n):
    """Of one kernel, which is nothing but its operation: a shift of 0, a gain and a factor of 1."""
    return tensor(np.repeat([[[0.0]], [[1.0]], [[1.0]]], n, axis=2))


HIDDEN = st.sampled_from([Function.IDENTITY, Function.TANH, Function.SINH, Function.POLYNOMIAL])
OUTPUT = st.sampled_from(list(Function))


@st.composite
def programs(draw, max_hidden=2):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n_kernels = draw(st.integers(1, 20))
    n_units = draw(st.lists(st.sampled_from([1, 3, 16, 17, 40]), max_size=max_hidden))
    functions = [draw(HIDDEN) for _ in n_units] + [draw(OUTPUT)]
    return rng, n_kernels, layers(rng, n_kernels, n_units, functions)


@settings(max_examples=12)
@given(program=programs(), n=st.integers(1, 3), m=st.sampled_from([1, 4, 7, 66]))
def test_any_network_on_any_kernels(program, n, m):
    rng, n_kernels, net = program
    block = pairs(rng, n_kernels, n, m)
    values = oracle.elementary_values(*block)
    expected = 1.7 * oracle.network(values.reshape(n_kernels, -1), net).reshape(n, m)
    size = 1.7 * oracle.network(np.abs(values).reshape(n_kernels, -1), net).max()
    np.testing.assert_allclose(network.evaluate(*block, net, 1.7).cpu(), expected, rtol=2e-6, atol=2e-6 * size)
    np.testing.assert_allclose(network.elementary_values(*block).cpu(), values, rtol=2e-6, atol=3e-6)


@settings(max_examples=12)
@given(program=programs(), n_pairs=st.sampled_from([1, 63, 64, 65, 520]))
def test_values_on_given_values(program, n_pairs):
    rng, n_kernels, net = program
    values = tensor(rng.uniform(0, 1, (n_kernels, n_pairs)))
    expected = oracle.network(oracle.double(values), net)
    np.testing.assert_allclose(given_values.network_values(values, net).cpu(), expected, rtol=3e-6)


@settings(max_examples=12)
@given(program=programs(), n_pairs=st.sampled_from([1, 63, 65, 130]))
def test_gradients_are_the_chain_rule(program, n_pairs):
    rng, n_kernels, net = program
    values, slopes = tensor(rng.uniform(0, 1, (n_kernels, n_pairs))), tensor(rng.normal(size=n_pairs))
    expected = oracle.gradients(oracle.double(values), oracle.double(slopes), net)
    size = oracle.gradients(oracle.double(values), np.abs(oracle.double(slopes)), net)
    found = given_values.network_gradients(values, slopes, net)
    for gradient, exact, largest in zip(found, expected, size, strict=True):
        assert gradient.dtype == torch.float64
        np.testing.assert_allclose(gradient.cpu(), exact, atol=3e-6 * np.abs(largest).max())


def test_programs_of_the_gradients_add_up_the_same_way_every_time(rng, monkeypatch):
    monkeypatch.setattr("gramless.engine.cuda.given_values.PROGRAMS", 2)
    net = layers(rng, 40, [40], [Function.TANH, Function.EXP])  # several pieces of inputs and of units
    values, slopes = tensor(rng.uniform(0, 1, (40, 300))), tensor(rng.normal(size=300))
    found = given_values.network_gradients(values, slopes, net)
    for gradient, exact in zip(found, oracle.gradients(oracle.double(values), oracle.double(slopes), net), strict=True):
        np.testing.assert_allclose(gradient.cpu(), exact, atol=3e-6 * np.abs(exact).max())
    for first, second in zip(found, given_values.network_gradients(values, slopes, net), strict=True):
        assert torch.equal(first, second)


def test_rows_of_several_programs(rng):
    block = pairs(rng, 3, 2 * network.ROWS + 1, 5)
    np.testing.assert_allclose(
        network.elementary_values(*block).cpu(), oracle.elementary_values(*block), rtol=2e-6, atol=3e-6
    )


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
def test_the_papers_network(rng, precision):
    if precision == "bf16" and not torch.cuda.is_available():
        pytest.skip("the interpreter multiplies the bits of bfloat16 numbers as if they were integers")
    n = 2
    planes = tensor(rng.uniform(0, 1, (20, n, 65)))
    views = np.arange(10)
    elementary = Elementary(
        np.repeat([Operation.POWER, Operation.POWER, Operation.EXPONENTIAL, Operation.POWER], 10).astype(np.int32),
        np.concatenate([views, views, views, views + 10]).astype(np.int32),
        np.repeat([1, 2, 1, 1], 10).astype(np.float32),
        np.ones(40, np.float32),
    )
    block = planes, elementary, *(tensor(rng.uniform(-0.5, 1, (3, 40, k))) for k in (n, 65))
    net = layers(rng, 40, [80], [Function.TANH, Function.EXP])
    expected = oracle.network(oracle.elementary_values(*block).reshape(40, -1), net).reshape(n, 65)
    found = network.evaluate(*block, net, 1.0, precision=precision).cpu()
    np.testing.assert_allclose(found, expected, rtol={"float32": 1e-6, "tf32": 1e-3, "bf16": 1e-2}[precision])


def test_wide_and_deep_networks_go_through_torch_in_chunks(rng, monkeypatch):
    monkeypatch.setattr(network, "CHUNK_VALUES", 20)
    monkeypatch.setattr(reference, "CPU_PAIRS", 2)
    monkeypatch.setattr(reference, "GPU_PAIRS", 2)
    for n_units in ([130], [3, 4, 5]):
        net = layers(rng, 4, n_units, [Function.TANH] * len(n_units) + [Function.POLYNOMIAL])
        block = pairs(rng, 4, 5, 3)
        values = oracle.elementary_values(*block).reshape(4, -1)
        expected = 2 * oracle.network(values, net).reshape(5, 3)
        np.testing.assert_allclose(network.evaluate(*block, net, 2.0).cpu(), expected, rtol=3e-6)
        slopes = rng.normal(size=15)
        for gradient, exact in zip(
            given_values.network_gradients(tensor(values), tensor(slopes), net),
            oracle.gradients(values, slopes, net),
            strict=True,
        ):
            np.testing.assert_allclose(gradient.cpu(), exact, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("function", [Function.TANH, Function.SINH, Function.EXP])
def test_functions_are_relatively_accurate_everywhere(function, rng):
    sizes = np.concatenate([np.geomspace(1e-30, 80, 150), np.linspace(0.2, 1.2, 150), [0.0, 88.7]])
    x = tensor(np.concatenate([sizes, -sizes])[None, :])
    unit = DenseLayer(tensor([[1.0]]), function)
    expected = oracle.network(oracle.double(x), [unit])
    np.testing.assert_allclose(given_values.network_values(x, [unit]).cpu(), expected, rtol=2e-6, atol=1e-37)


@pytest.mark.parametrize(
    ("function", "expected"),
    [(Function.TANH, [1, -1, 1]), (Function.SINH, [np.inf, -np.inf, np.inf]), (Function.EXP, [np.inf, 0, np.inf])],
)
def test_functions_saturate(function, expected):
    x = tensor([[np.inf, -np.inf, 1e30]])
    unit = DenseLayer(tensor([[1.0]]), function)
    with np.errstate(all="ignore"):  # the interpreter's, which computes both sides of a choice
        np.testing.assert_array_equal(given_values.network_values(x, [unit]).cpu(), expected)


@pytest.mark.parametrize("operation", [Operation.ARC_COSINE_0, Operation.ARC_COSINE_1, Operation.ARC_COSINE_2])
def test_arc_cosines_up_to_both_ends(operation):
    cosines = np.concatenate([np.linspace(-1, 1, 101), 1 - np.geomspace(1e-7, 1e-2, 30), [-2.0, 1.5]])
    planes = tensor(np.concatenate([cosines, -cosines])[None, None, :])
    elementary = Elementary(
        np.array([operation], np.int32), np.zeros(1, np.int32), np.ones(1, np.float32), np.ones(1, np.float32)
    )
    plain = [plain_sides(n) for n in planes.shape[1:]]
    found = network.elementary_values(planes, elementary, *plain)
    np.testing.assert_allclose(found[0].cpu(), oracle.operation(oracle.double(planes[0]), operation), atol=2e-6)


@pytest.mark.parametrize("exponent", [1e-6, 0.3, 2.5, 1e6])
def test_inverse_powers_from_tiny_numbers_to_the_last(exponent):
    t = np.concatenate([[-1.0, 0.0], np.geomspace(1e-37, 3e38, 500)])
    planes = tensor(t[None, None, :])
    kinds = (np.array([kind], np.int32) for kind in (Operation.INVERSE_POWER, 0))
    elementary = Elementary(*kinds, np.array([exponent], np.float32), np.ones(1, np.float32))
    plain = [plain_sides(n) for n in planes.shape[1:]]
    found = network.elementary_values(planes, elementary, *plain)[0].cpu().numpy()
    logarithm = float(np.float32(exponent)) * np.log1p(np.maximum(oracle.double(planes[0]), 0))
    exact = oracle.operation(oracle.double(planes[0]), Operation.INVERSE_POWER, np.float32(exponent))
    assert (np.abs(found - exact) <= (3e-6 + 2.0**-22 * logarithm) * exact + 1e-37).all()


def test_padding_of_huge_and_tiny_kernels_adds_nothing():
    planes = tensor([[[1e30, 1e-30, 0.0]]])
    elementary = Elementary(
        np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1, np.float32), np.ones(1, np.float32)
    )
    sides = [plain_sides(n) for n in (1, 3)]
    net = [DenseLayer(tensor([[1.0], [2.0]]), Function.IDENTITY), DenseLayer(tensor([[1.0, 1.0]]), Function.IDENTITY)]
    found = network.evaluate(planes, elementary, *sides, net, 1.0)
    np.testing.assert_allclose(found.cpu(), [[3e30, 3e-30, 0.0]], rtol=1e-6)
