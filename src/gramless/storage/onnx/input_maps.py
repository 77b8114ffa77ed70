"""Input maps of a layered map in a graph: inner products of the rows' vectors with those of the landmarks, (n, N)."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from gramless.maps.explicit import ExplicitMap
from gramless.maps.explicit.eigen import EigenMap
from gramless.maps.explicit.exact import HellingerMap, LinearMap, PolynomialMap
from gramless.maps.explicit.fourier import FourierMap
from gramless.maps.explicit.unary import UnaryCodes, UnaryMap
from gramless.storage.onnx.arrays import as_array
from gramless.storage.onnx.functions import roots
from gramless.storage.onnx.graph import Graph, multiply
from gramless.storage.onnx.kernels import add_kernel
from gramless.storage.onnx.pairs import Pairs, inverse_root


def add_input_products(graph: Graph, input_map: ExplicitMap, anchors: Any, x: str, rows_at_once: int) -> str:
    """<phi(x), phi(x_i)> for rows x (n, d) and the landmarks' vectors or codes."""
    return INPUT_MAPS[type(input_map)](graph, input_map, anchors, x, rows_at_once)


def eigen(graph: Graph, input_map: EigenMap, anchors: Any, x: str, rows_at_once: int) -> str:
    values = add_kernel(input_map.kernel, Pairs(graph, x, as_array(input_map.landmarks), rows_at_once))
    return multiply(graph, values, as_array(input_map.projection.matrix), as_array(anchors).T)


def linear(graph: Graph, input_map: LinearMap, anchors: Any, x: str, rows_at_once: int) -> str:
    phi = _normalized(graph, x, x) if input_map.kernel.normalize else x
    return multiply(graph, phi, as_array(anchors).T)


def hellinger(graph: Graph, input_map: HellingerMap, anchors: Any, x: str, rows_at_once: int) -> str:
    phi = roots(graph, x, input_map.kernel.root)
    if input_map.kernel.normalize:
        phi = _normalized(graph, phi, phi)
    return multiply(graph, phi, as_array(anchors).T)


def polynomial(graph: Graph, input_map: PolynomialMap, anchors: Any, x: str, rows_at_once: int) -> str:
    """The monomials of the features; an offset is one feature more, with the constant value sqrt(offset)."""
    offset = input_map.kernel.offset
    extended = graph.node("Pad", x, [0, 0, 0, 1], sqrt(offset)) if offset > 0 else x
    factors, roots = input_map.monomials
    first, *others = factors.numpy()
    phi = graph.node("Mul", graph.node("Gather", extended, first, axis=1), as_array(roots))
    for factor in others:
        phi = graph.node("Mul", phi, graph.node("Gather", extended, factor, axis=1))
    if input_map.kernel.normalize:
        own = graph.node("Add", graph.node("ReduceSumSquare", x, [1], keepdims=1), offset)
        root = inverse_root(graph, graph.node("Pow", own, float(input_map.kernel.degree)))
        phi = graph.node("Mul", phi, root)
    return multiply(graph, phi, as_array(anchors).T)


def fourier(graph: Graph, input_map: FourierMap, anchors: Any, x: str, rows_at_once: int) -> str:
    phases = graph.node("MatMul", x, as_array(input_map.frequencies))
    waves = graph.node("Concat", graph.node("Cos", phases), graph.node("Sin", phases), axis=1)
    return multiply(graph, waves, as_array(anchors).T / sqrt(input_map.frequencies.shape[1]))


def unary(graph: Graph, input_map: UnaryMap, anchors: UnaryCodes, x: str, rows_at_once: int) -> str:
    """Minima of codes; each code by the same three operations as in the map, so that none rounds to another level."""
    step, width = as_array(input_map.step), as_array(input_map.width)
    share = graph.node("Div", graph.node("Sub", x, as_array(input_map.low)), np.where(step > 0, width, 1.0))
    position = graph.node("Mul", share, np.where(step > 0, float(input_map.levels), 0.0))
    whole = graph.node("Round" if input_map.rounding == "nearest" else "Floor", position)
    codes = graph.node("Clip", whole, 0.0, float(input_map.levels))
    landmarks = as_array(anchors.codes) * as_array(anchors.step)
    minima = Pairs(graph, graph.node("Mul", codes, step), landmarks, rows_at_once).minima
    products = graph.node("Add", minima, float(anchors.constant))
    if input_map.kernel.normalize:
        sums = graph.node("ReduceSum", x, [1], keepdims=1)
        products = graph.node("Mul", products, inverse_root(graph, sums))
    return graph.node("Mul", products, as_array(anchors.gains))


INPUT_MAPS: dict[type[ExplicitMap], Callable[[Graph, Any, Any, str, int], str]] = {
    EigenMap: eigen,
    LinearMap: linear,
    HellingerMap: hellinger,
    PolynomialMap: polynomial,
    FourierMap: fourier,
    UnaryMap: unary,
}


def _normalized(graph: Graph, phi: str, x: str) -> str:
    return graph.node("Mul", phi, inverse_root(graph, graph.node("ReduceSumSquare", x, [1], keepdims=1)))
