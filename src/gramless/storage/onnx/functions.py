"""Functions for which the standard has an operator, but onnxruntime only in float32: written out in float64."""

from __future__ import annotations

from math import pi

import numpy as np

from gramless.storage.onnx.graph import Graph

N_TERMS = 26  # of the series of the arc sine up to 1/2: the first left out is below 1e-17


def arc_cosine(graph: Graph, cosine: str) -> str:
    """arccos of numbers in [-1, 1].

    In float64 by arcsin t = sum_k c_k t^(2k + 1) for |t| <= 1/2, and arccos c = 2 arcsin sqrt((1 - c) / 2) beyond.
    """
    if graph.dtype == np.float32:
        return graph.node("Acos", cosine)
    size = graph.node("Abs", cosine)
    steep = graph.node("Greater", size, 0.5)
    half = graph.node("Sqrt", graph.node("Mul", graph.node("Sub", 1.0, size), 0.5))
    t = graph.node("Where", steep, half, size)
    series = polynomial(graph, graph.node("Mul", t, t), _arc_sine_coefficients())
    arc_sine = graph.node("Mul", t, series)
    acute = graph.node("Where", steep, graph.node("Mul", arc_sine, 2.0), graph.node("Sub", pi / 2, arc_sine))
    return graph.node("Where", graph.node("Less", cosine, 0.0), graph.node("Sub", pi, acute), acute)


def hyperbolic_sine(graph: Graph, x: str) -> str:
    """sinh x, in float64 as (e^x - e^-x) / 2: what cancels near 0 is below 1e-16."""
    if graph.dtype == np.float32:
        return graph.node("Sinh", x)
    difference = graph.node("Sub", graph.node("Exp", x), graph.node("Exp", graph.node("Neg", x)))
    return graph.node("Mul", difference, 0.5)


def inverse_hyperbolic_sine(graph: Graph, x: str) -> str:
    """asinh x = sign(x) log(|x| + sqrt(x^2 + 1))."""
    size = graph.node("Abs", x)
    root = graph.node("Sqrt", graph.node("Add", graph.node("Mul", size, size), 1.0))
    return graph.node("Mul", graph.node("Sign", x), graph.node("Log", graph.node("Add", size, root)))


def polynomial(graph: Graph, x: str, coefficients: tuple[float, ...]) -> str:
    """c_0 + c_1 x + c_2 x^2 + ..., from the last coefficient down."""
    if len(coefficients) == 1:
        return graph.node("Add", graph.node("Mul", x, 0.0), coefficients[0])
    *lower, last = coefficients
    result = graph.node("Mul", x, last)
    for coefficient in lower[:0:-1]:
        result = graph.node("Mul", graph.node("Add", result, coefficient), x)
    return graph.node("Add", result, lower[0])


def roots(graph: Graph, x: str, root: int) -> str:
    """x^(1 / root), root a power of two."""
    for _ in range(root.bit_length() - 1):
        x = graph.node("Sqrt", x)
    return x


def _arc_sine_coefficients() -> tuple[float, ...]:
    """(2k)! / (4^k k!^2 (2k + 1)), the first few."""
    central = [1.0]
    for k in range(1, N_TERMS):
        central.append(central[-1] * (2 * k - 1) / (2 * k))
    return tuple(c / (2 * k + 1) for k, c in enumerate(central))
