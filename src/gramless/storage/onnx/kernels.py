"""Elementary kernels in a graph: from their formulas, by the statistics of pairs and a table of operations."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
import torch

from gramless.errors import GramlessError
from gramless.kernels import KERNELS, Custom, Formula, Kernel, Operation, Precomputed, Statistic
from gramless.storage.onnx.functions import arc_cosine
from gramless.storage.onnx.graph import Graph, Value
from gramless.storage.onnx.pairs import Pairs, inverse_root, inverse_roots

STEEP = (Operation.ARC_COSINE_0, Operation.NONPOSITIVE, Operation.INVERSE_POWER)
"""In float64: the slope of an angle is infinite where it vanishes; unlike with exponentials, no distance is so large
that only the fact matters; and 1 + v is not exact enough for a high power."""


def add_kernel(kernel: Kernel, pairs: Pairs) -> str:
    """k(x, z) between the rows of a batch and the fixed samples: (n, m)."""
    formula = kernel.formula
    if formula.statistic is Statistic.GIVEN:
        known = (each.__name__ for each in KERNELS if each not in (Custom, Precomputed))
        raise GramlessError(
            f"a network with a kernel of type {type(kernel).__name__} cannot be exported: an ONNX file has no Python "
            f"functions and no matrix of samples that it has never seen. Kernels that can be: {', '.join(known)}; fit "
            "the network with those."
        )
    graph, dtype = pairs.graph, pairs.graph.dtype
    exact = pairs.in_float64 if formula.operation in STEEP or not formula.fits_float32 else pairs
    values = OPERATIONS[formula.operation](exact.graph, _argument(formula, exact), formula.exponent)
    if exact is not pairs:
        largest = float(np.finfo(dtype).max)
        values = graph.cast(exact.graph.node("Clip", values, -largest, largest), dtype)
    for factor in _factors(formula, pairs):
        values = graph.node("Mul", values, factor)
    return values


def _argument(formula: Formula, pairs: Pairs) -> str:
    """v of the formula: (n, m)."""
    graph = pairs.graph
    if formula.statistic is Statistic.SQUARED_DISTANCE:
        gain = sqrt(abs(formula.slope) * formula.steepness)
        v = pairs.squared_distances(formula.features, gain, decaying=formula.operation is Operation.EXPONENTIAL)
        v = _times(graph, v, (1 if formula.slope > 0 else -1) / formula.steepness)
    elif formula.cosine and formula.statistic is Statistic.INNER_PRODUCT and not formula.offset:
        return pairs.cosines(formula.features)
    else:
        v = _affine(graph, formula, pairs.statistic(formula.statistic, formula.features))
    if formula.cosine:
        own_x, own_z = _own(formula, pairs)
        v = graph.node("Mul", graph.node("Mul", v, inverse_root(graph, own_x)), inverse_roots(own_z))
    return v


def _own(formula: Formula, pairs: Pairs) -> tuple[str, np.ndarray]:
    """s^2 of the rows, (n, 1), and of the fixed samples, (m,)."""
    of_x, of_z = pairs.own(formula.statistic, formula.features)
    return _affine(pairs.graph, formula, of_x), formula.slope * of_z + formula.offset


def _factors(formula: Formula, pairs: Pairs) -> tuple[Value, ...]:
    """What f(v) is multiplied with: of the rows, and of the fixed samples."""
    graph = pairs.graph
    if not (formula.unit or formula.size):
        return ()
    own_x, own_z = _own(formula, pairs)
    if not formula.unit:
        of_x = graph.node("Sqrt", own_x) if formula.size == 1 else graph.node("Pow", own_x, formula.size / 2)
        return of_x, own_z ** (formula.size / 2)
    # Where it is normalised, only whether a sample is 0 matters.
    something, nothing = formula.factor(torch.tensor([1.0, 0.0], dtype=torch.float64)).tolist()
    of_x = graph.node("Where", graph.node("Greater", own_x, 0.0), something, nothing)
    return of_x, np.where(own_z > 0, something, nothing)


def _affine(graph: Graph, formula: Formula, statistic: str) -> str:
    scaled = _times(graph, statistic, formula.slope)
    return graph.node("Add", scaled, formula.offset) if formula.offset else scaled


def _times(graph: Graph, value: str, factor: float) -> str:
    if factor == -1:
        return graph.node("Neg", value)
    return value if factor == 1 else graph.node("Mul", value, factor)


def _angular(graph: Graph, v: str, order: int) -> str:
    cosine = graph.node("Clip", v, -1.0, 1.0)
    supplement = graph.node("Sub", pi, arc_cosine(graph, cosine))
    if order == 0:
        return graph.node("Div", supplement, pi)
    square = graph.node("Mul", cosine, cosine)
    sine = graph.node("Sqrt", graph.node("Max", graph.node("Sub", 1.0, square), 0.0))
    if order == 1:
        return graph.node("Div", graph.node("Add", sine, graph.node("Mul", supplement, cosine)), pi)
    first = graph.node("Mul", graph.node("Mul", sine, cosine), 3.0)
    second = graph.node("Mul", supplement, graph.node("Add", graph.node("Mul", square, 2.0), 1.0))
    return graph.node("Div", graph.node("Add", first, second), pi)


OPERATIONS: dict[Operation, Callable[[Graph, str, float], str]] = {
    Operation.POWER: lambda graph, v, exponent: v if exponent == 1 else graph.node("Pow", v, float(exponent)),
    Operation.EXPONENTIAL: lambda graph, v, exponent: graph.node("Exp", v),
    Operation.ARC_COSINE_0: lambda graph, v, exponent: _angular(graph, v, 0),
    Operation.ARC_COSINE_1: lambda graph, v, exponent: _angular(graph, v, 1),
    Operation.ARC_COSINE_2: lambda graph, v, exponent: _angular(graph, v, 2),
    Operation.NONPOSITIVE: lambda graph, v, exponent: v,
    Operation.INVERSE_POWER: lambda graph, v, exponent: graph.node("Pow", graph.node("Add", v, 1.0), -exponent),
}
"""f(v) of the nodes; statistics make no v of the wrong sign."""
