"""Functions written out of standard operators against NumPy's, to the last digits of float64."""

import numpy as np
import onnxruntime
import pytest

from gramless.storage.onnx import functions
from gramless.storage.onnx.graph import Constants, Graph, multiply, signature


def evaluate(build, x, dtype=np.float64):
    """What build(graph, "x") says of an array."""
    graph = Graph(np.dtype(dtype), Constants(["x", "y"]))
    graph.put_out("y", build(graph, "x"), dtype)
    shape = [f"size{i}" for i in range(x.ndim)]
    content = graph.to_bytes([signature("x", dtype, shape)], [signature("y", dtype, None)], {}, "test")
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x.astype(dtype)})[0]


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-15), (np.float32, 1e-6)], ids=["float64", "float32"])
def test_arc_cosine(dtype, accuracy):
    x = np.concatenate([np.linspace(-1, 1, 4001), [0.5, -0.5, 1 - 1e-16, 1e-300, -0.0]]).astype(dtype)
    found = evaluate(functions.arc_cosine, x, dtype)
    np.testing.assert_allclose(found, np.arccos(x.astype(np.float64)), rtol=0, atol=accuracy)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-14), (np.float32, 1e-6)], ids=["float64", "float32"])
def test_hyperbolic_sine(dtype, accuracy):
    x = np.concatenate([np.linspace(-30, 30, 999), [1e-9, 80.0, -80.0, 0.0]]).astype(dtype)
    found = evaluate(functions.hyperbolic_sine, x, dtype)
    np.testing.assert_allclose(found, np.sinh(x.astype(np.float64)), rtol=accuracy, atol=1e-15)


def test_inverse_hyperbolic_sine():
    x = np.concatenate([np.linspace(-30, 30, 999), [1e-9, 1e100, -1e100, 1e200, np.inf, -np.inf]])
    found = evaluate(functions.inverse_hyperbolic_sine, x)
    expected = np.arcsinh(x)
    expected[1002] = np.inf  # its square overflows; what is asked for is cut off far below
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("coefficients", [(2.0,), (1.0, 3.0), (0.5, 0.0, 2.0), (0.0, 0.0, 0.0, 1.0)], ids=str)
def test_polynomial(coefficients):
    x = np.linspace(-3, 3, 50)
    found = evaluate(lambda graph, name: functions.polynomial(graph, name, coefficients), x)
    np.testing.assert_allclose(found, sum(c * x**k for k, c in enumerate(coefficients)), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("shape", "n_products"), [((6, 2, 6), 2), ((6, 5, 6), 1), ((3, 6, 5, 6), 1)], ids=str)
def test_two_matrices_become_one_where_it_is_smaller(shape, n_products, rng):
    *stack, n, r, m = shape
    first, second = rng.normal(size=(*stack, n, r)), rng.normal(size=(*stack, r, m))
    x = rng.normal(size=(*stack, 4, n))
    np.testing.assert_allclose(evaluate(lambda g, name: multiply(g, name, first, second), x), x @ first @ second)
    graph = Graph(np.dtype(np.float64), Constants(["x"]))
    multiply(graph, "x", first, second)
    assert len(graph.nodes) == n_products
