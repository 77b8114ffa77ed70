"""Fused evaluation against NumPy in float64, kernel by kernel and unit by unit."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.engine import cpu
from gramless.engine.program import DenseLayer, Elementary, Function, Term
from gramless.kernels import Operation

F32 = np.float32
COEFFICIENTS = (0.5, -1.25, 0.25, 0.125)
# Shift, gain, factor. With slopes up to 0.6, statistics stay below 0.993: at 1 the condition of an angle is infinite.
SIDES = ((-0.25, 0.25), (0, 0.95), (-1, 1))


def function_of(function, t):
    if function == Function.POLYNOMIAL:
        return sum(c * t**k for k, c in enumerate(COEFFICIENTS))
    return {Function.IDENTITY: lambda t: t, Function.TANH: np.tanh, Function.SINH: np.sinh, Function.EXP: np.exp}[
        function
    ](t)


def operation_of(operation, exponent, v):
    if operation == Operation.POWER:
        return v**exponent
    if operation == Operation.EXPONENTIAL:
        return np.exp(np.minimum(v, 0))
    if operation == Operation.NONPOSITIVE:
        return np.minimum(v, 0)
    if operation == Operation.INVERSE_POWER:
        return np.exp(-float(exponent) * np.log1p(np.maximum(v, 0)))
    cos = np.clip(v, -1, 1)
    angle, sin = np.arccos(cos), np.sqrt((1 - cos) * (1 + cos))
    return {
        Operation.ARC_COSINE_0: 1 - angle / np.pi,
        Operation.ARC_COSINE_1: (sin + (np.pi - angle) * cos) / np.pi,
        Operation.ARC_COSINE_2: (3 * sin * cos + (np.pi - angle) * (1 + 2 * cos**2)) / np.pi,
    }[operation]


def random_kernels(rng, n_kernels, n_planes, n, m):
    elementary = Elementary(
        rng.integers(0, len(Operation), n_kernels).astype(np.int32),
        rng.integers(0, n_planes, n_kernels).astype(np.int32),
        rng.integers(1, 5, n_kernels).astype(F32),
        rng.uniform(-0.6, 0.6, n_kernels).astype(F32),
    )
    rows, columns = (
        torch.from_numpy(np.array([rng.uniform(low, high, (n_kernels, k)) for low, high in SIDES], F32)) for k in (n, m)
    )
    return elementary, rows, columns


def random_layers(rng, widths, functions):
    """Weights small enough for units to stay below 5 through any functions, which would amplify rounding otherwise."""
    return [
        DenseLayer(
            torch.from_numpy(rng.uniform(-0.5, 0.5, (units, inputs)).astype(F32)) / inputs, function, COEFFICIENTS
        )
        for inputs, units, function in zip(widths, widths[1:], functions, strict=False)
    ]


def evaluated(planes, elementary, rows, columns, layers, scale, matrix=None):
    """The network's value of every pair, from statistics that are given."""
    m = planes.shape[2] if matrix is None else len(matrix)
    out = np.full((planes.shape[1], m), np.nan, planes.dtype)
    packed = cpu.pack_layers(layers, len(elementary), planes.dtype)
    numbers, panels = rows.numpy().astype(planes.dtype), None if matrix is None else cpu.in_panels(matrix)
    assert cpu.evaluate(program(planes, elementary, columns), list(planes), numbers, packed, scale, out, panels)
    return out


def kernel_values(planes, elementary, rows, columns):
    out = np.full((len(elementary), *planes.shape[1:]), np.nan, planes.dtype)
    none, numbers = cpu.no_layers(len(elementary), planes.dtype), rows.numpy().astype(planes.dtype)
    assert cpu.evaluate(program(planes, elementary, columns), list(planes), numbers, none, 3.0, out)
    return out


def program(planes, elementary, columns):
    sums = [cpu.PairSums(k, Term.GIVEN, planes.shape[2]) for k in range(len(planes))]
    kernels = cpu.pack_kernels(elementary, columns, planes.dtype)
    return cpu.Packed(cpu.pack_statistics(sums), kernels, cpu.no_kernels(planes.dtype))


def expected_kernels(planes, elementary, rows, columns):
    values = []
    for q in range(len(elementary)):
        (shift, gain, factor), (other_shift, other_gain, other_factor) = (
            side[:, q].double().numpy() for side in (rows, columns)
        )
        v = float(elementary.slope[q]) * planes[elementary.plane[q]].astype(np.float64)
        v = (v + shift[:, None] + other_shift) * gain[:, None] * other_gain
        f = operation_of(elementary.operation[q], elementary.exponent[q], v)
        values.append(f * factor[:, None] * other_factor)
    return np.stack(values)


def expected_network(values, layers):
    for layer in layers:
        values = function_of(layer.function, np.tensordot(layer.weights.double().numpy(), values, 1))
    return values[0]


sizes = st.one_of(st.integers(1, 70), st.sampled_from([127, 128, 129, 1100]))
widths = st.lists(st.integers(1, 11), min_size=1, max_size=4)
many_functions = st.lists(st.sampled_from(list(Function)), min_size=4, max_size=4)


@given(sizes, st.integers(1, 40), widths, many_functions, st.integers(0, 999), st.booleans())
def test_evaluate_at_every_size(m, n, widths, functions, seed, turned):
    n, m = (m, n) if turned else (n, m)
    rng = np.random.default_rng(seed)
    planes = rng.uniform(-1, 1, (3, n, m)).astype(F32)
    kernels = random_kernels(rng, widths[0], 3, n, m)
    layers = random_layers(rng, [*widths, 1], functions)
    exact = 1.75 * expected_network(expected_kernels(planes, *kernels), layers)
    np.testing.assert_allclose(evaluated(planes, *kernels, layers, 1.75), exact, rtol=1e-5, atol=1e-5)
    matrix = rng.uniform(-1, 1, (rng.integers(1, 30), m)).astype(F32)
    np.testing.assert_allclose(
        evaluated(planes, *kernels, layers, 1.75, matrix), exact @ matrix.T, rtol=1e-5, atol=1e-5 * m
    )


@given(sizes, st.integers(1, 40), st.integers(1, 9), st.integers(0, 999))
def test_elementary_values_at_every_size(m, n, n_kernels, seed):
    rng = np.random.default_rng(seed)
    planes = rng.uniform(-1, 1, (2, n, m)).astype(F32)
    kernels = random_kernels(rng, n_kernels, 2, n, m)
    np.testing.assert_allclose(
        kernel_values(planes, *kernels), expected_kernels(planes, *kernels), rtol=1e-6, atol=2e-6
    )


@given(st.integers(1, 2100), widths, many_functions, st.integers(0, 999))
def test_network_values_at_every_size(n_pairs, widths, functions, seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, (widths[0], n_pairs)).astype(F32)
    layers = random_layers(rng, [*widths, 1], functions)
    exact = expected_network(values.astype(np.float64), layers)
    np.testing.assert_allclose(cpu.network_values(values, layers), exact, rtol=1e-5, atol=1e-5)


DOUBLES = np.concatenate([-np.geomspace(1e-300, 700, 20_001), [0.0], np.geomspace(1e-300, 700, 20_001)])


@pytest.mark.parametrize(
    ("function", "exact"), [(Function.TANH, np.tanh), (Function.SINH, np.sinh), (Function.EXP, np.exp)]
)
def test_functions_of_float64_are_as_accurate_as_that(function, exact):
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(through(function, DOUBLES), exact(DOUBLES), rtol=1e-14, atol=1e-307)


@pytest.mark.parametrize("operation", [Operation.ARC_COSINE_0, Operation.ARC_COSINE_1, Operation.ARC_COSINE_2])
def test_arc_cosines_of_float64(operation):
    near_one = 1 - np.geomspace(1e-16, 1, 5001)
    t = np.concatenate([np.linspace(-1, 1, 50_001), near_one, -near_one, [-7, 7]])
    np.testing.assert_allclose(kernel_of(operation, t), operation_of(operation, 1, t), rtol=0, atol=4e-15)


@pytest.mark.parametrize("exponent", [0.3, 1.0, 100.0])
def test_inverse_powers_and_decays_of_float64(exponent):
    t = np.concatenate([[-1.0, 0.0], np.geomspace(1e-300, 1e300, 20_001)])
    logarithm = exponent * np.log1p(np.maximum(t, 0.0))
    with np.errstate(under="ignore"):
        exact = np.exp(-logarithm)
    allowed = (1e-14 + 4 * 2.0**-52 * logarithm) * exact + 1e-307
    assert (np.abs(kernel_of(Operation.INVERSE_POWER, t, exponent) - exact) <= allowed).all()
    np.testing.assert_allclose(kernel_of(Operation.EXPONENTIAL, -t), np.exp(np.minimum(-t, 0)), rtol=1e-14, atol=1e-307)


def test_functions_end_where_float64_does():
    t = np.array([709.79, 1e4, np.inf, -746.0, -np.inf])
    assert through(Function.EXP, t).tolist() == [np.inf] * 3 + [0.0] * 2
    assert through(Function.SINH, t[1:3]).tolist() == [np.inf] * 2
    assert through(Function.TANH, t) == pytest.approx([1, 1, 1, -1, -1], rel=1e-15)


@given(sizes, st.integers(1, 40), widths, many_functions, st.integers(0, 999))
def test_evaluate_in_float64(m, n, widths, functions, seed):
    rng = np.random.default_rng(seed)
    planes = rng.uniform(-1, 1, (3, n, m))
    kernels = random_kernels(rng, widths[0], 3, n, m)
    layers = random_layers(rng, [*widths, 1], functions)
    exact = 1.75 * expected_network(expected_kernels(planes, *kernels), layers)
    np.testing.assert_allclose(evaluated(planes, *kernels, layers, 1.75), exact, rtol=1e-13, atol=1e-14)


def through(function, t):
    """The network that is nothing but this function."""
    return cpu.network_values(t[None], [DenseLayer(torch.ones(1, 1), function, COEFFICIENTS)])


SIZES = np.concatenate([np.geomspace(1e-37, 1e-3, 5001), np.linspace(1e-3, 20, 50_001), [88.0, 1e5, 1e30]])
SIGNED = np.concatenate([-SIZES, [0.0], SIZES]).astype(F32)


def test_tanh_is_accurate_everywhere():
    np.testing.assert_allclose(through(Function.TANH, SIGNED), np.tanh(SIGNED.astype(np.float64)), rtol=2e-6)


def test_sinh_is_accurate_everywhere():
    t = np.concatenate([SIGNED[np.abs(SIGNED) <= 20], np.linspace(-89.4, 89.4, 10_001)]).astype(F32)
    np.testing.assert_allclose(through(Function.SINH, t), np.sinh(t.astype(np.float64)), rtol=2e-6)


def test_exp_is_accurate_everywhere():
    t = np.concatenate([np.linspace(-87.3, 88.72, 100_001), SIGNED[np.abs(SIGNED) <= 80]]).astype(F32)
    np.testing.assert_allclose(through(Function.EXP, t), np.exp(t.astype(np.float64)), rtol=2e-6)


def test_functions_end_where_float32_does():
    t = np.array([88.73, 89.5, 1e4, np.inf, -104, -1e4, -np.inf], F32)
    assert through(Function.EXP, t).tolist() == [np.inf] * 4 + [0.0] * 3
    assert through(Function.SINH, t).tolist()[1:] == [np.inf] * 3 + [-np.inf] * 3
    assert through(Function.TANH, t[2:]) == pytest.approx([1, 1, -1, -1, -1], rel=1e-6)
    assert 0 < through(Function.EXP, np.array([-95.0], F32))[0] < 1e-40


def kernel_of(operation, t, exponent=1):
    """The elementary kernel that is nothing but this operation."""
    one = torch.tensor([0.0, 1.0, 1.0])[:, None, None]
    many = one.expand(3, 1, len(t))
    elementary = Elementary(
        *(np.array([k], np.int32) for k in (operation, 0)), np.array([exponent], t.dtype), np.ones(1, t.dtype)
    )
    return kernel_values(t[None, None], elementary, one, many)[0, 0]


@pytest.mark.parametrize("operation", [Operation.ARC_COSINE_0, Operation.ARC_COSINE_1, Operation.ARC_COSINE_2])
def test_arc_cosines_are_accurate_everywhere_and_clipped(operation):
    near_one = 1 - np.geomspace(1e-7, 1, 5001)
    t = np.concatenate([np.linspace(-1, 1, 50_001), near_one, -near_one, [-7, 7, -np.inf, np.inf]]).astype(F32)
    exact = operation_of(operation, 1, t.astype(np.float64))
    np.testing.assert_allclose(kernel_of(operation, t), exact, rtol=0, atol=2e-6)


def test_the_decaying_exponential_is_accurate_and_never_above_one():
    t = np.concatenate([np.linspace(-87.3, 0, 50_001), [1e-3, 5, np.inf, -np.inf]]).astype(F32)
    np.testing.assert_allclose(kernel_of(Operation.EXPONENTIAL, t), np.exp(np.minimum(t, 0.0, dtype=float)), rtol=2e-6)


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_powers(degree, rng):
    t = rng.uniform(-3, 3, 77).astype(F32)
    np.testing.assert_allclose(kernel_of(Operation.POWER, t, degree), t.astype(np.float64) ** degree, rtol=2e-6)


@pytest.mark.parametrize("exponent", [1e-6, 0.3, 1.0, 2.5, 100.0, 1e6])
def test_inverse_powers_are_accurate_from_tiny_numbers_to_the_last(exponent):
    t = np.concatenate([[-np.inf, -1.0, -0.0], np.geomspace(1e-45, 3e38, 50_001)]).astype(F32)
    logarithm = float(F32(exponent)) * np.log1p(np.maximum(t, 0.0, dtype=float))
    exact = np.exp(-logarithm)
    allowed = (2e-6 + 2.0**-22 * logarithm) * exact + 1e-44  # what the exponent of an exponential is off by
    assert (np.abs(kernel_of(Operation.INVERSE_POWER, t, exponent) - exact) <= allowed).all()


def test_nothing_above_zero_is_left():
    t = np.array([-np.inf, -3e38, -1.5, -1e-45, -0.0, 0.0, 1e-45, 2.0, np.inf], F32)
    assert kernel_of(Operation.NONPOSITIVE, t).tolist() == np.minimum(t, 0).tolist()


def test_a_gaussian_of_a_sample_with_itself_is_exactly_one(rng):
    """Shifts cancel the statistic exactly, however large it is."""
    squares = (rng.random(70) * 1e6).astype(F32)
    kinds = (np.array([k], np.int32) for k in (Operation.EXPONENTIAL, 0))
    elementary = Elementary(*kinds, np.ones(1, F32), np.array([2.0], F32))
    sides = torch.ones(3, 1, 70)
    sides[0] = -torch.from_numpy(squares)
    planes = np.tile(squares, (1, 70, 1))
    assert (np.diag(kernel_values(planes, elementary, sides, sides)[0]) == 1).all()


def test_layers_that_do_not_fit_are_refused(rng):
    values = rng.random((3, 5), dtype=F32)
    with pytest.raises(AssertionError):
        cpu.network_values(values, random_layers(rng, [4, 1], [Function.TANH]))
    with pytest.raises(AssertionError):
        cpu.network_values(values, random_layers(rng, [3, 2], [Function.TANH]))
