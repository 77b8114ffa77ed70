"""Elementary kernels in a graph: one function per kernel, from the statistics of pairs to values (n, m)."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from gramless.errors import GramlessError
from gramless.kernels import (
    ArcCosine,
    ChiSquare,
    Distance,
    Gaussian,
    Hellinger,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
)
from gramless.kernels.scale import refuse_unsettled
from gramless.storage.onnx.functions import arc_cosine
from gramless.storage.onnx.graph import Graph
from gramless.storage.onnx.pairs import Pairs, inverse_root, inverse_roots


def add_kernel(kernel: Kernel, pairs: Pairs) -> str:
    """k(x, z) between the rows of a batch and the fixed samples: (n, m)."""
    if type(kernel) not in KERNELS:
        raise GramlessError(
            f"a network with a kernel of type {type(kernel).__name__} cannot be exported: an ONNX file has no Python "
            f"functions and no matrix of samples that it has never seen. Kernels that can be: "
            f"{', '.join(each.__name__ for each in KERNELS)}; fit the network with those."
        )
    return KERNELS[type(kernel)](kernel, pairs)


def linear(kernel: Linear, pairs: Pairs) -> str:
    return pairs.cosines if kernel.normalize else pairs.products


def polynomial(kernel: Polynomial, pairs: Pairs) -> str:
    graph, offset = pairs.graph, kernel.offset
    if kernel.normalize and not offset:
        base = pairs.cosines
    elif kernel.normalize:
        own_x = inverse_root(graph, graph.node("Add", pairs.squares, offset))
        base = graph.node("Mul", graph.node("Add", pairs.products, offset), own_x)
        base = graph.node("Mul", base, inverse_roots(pairs.own_squares + offset))
    else:
        base = graph.node("Add", pairs.products, offset)
    return graph.node("Pow", base, float(kernel.degree))


def hellinger(kernel: Hellinger, pairs: Pairs) -> str:
    return pairs.root_products(kernel.root, kernel.normalize)


def intersection(kernel: Intersection, pairs: Pairs) -> str:
    if not kernel.normalize:
        return pairs.minima
    by_x = pairs.graph.node("Mul", pairs.minima, inverse_root(pairs.graph, pairs.sums))
    return pairs.graph.node("Mul", by_x, inverse_roots(pairs.z.sum(1, dtype=np.float64)))


def gaussian(kernel: Gaussian, pairs: Pairs) -> str:
    squared = pairs.squared_distances(1.0 / (sqrt(2.0) * refuse_unsettled(kernel.scale)))
    return pairs.graph.node("Exp", pairs.graph.node("Neg", squared))


def distance(kernel: Distance, pairs: Pairs) -> str:
    """In float64: unlike a Gaussian it is cut off nowhere, since the weight that it is multiplied with may be small."""
    exact = pairs.in_float64()
    squared = exact.scaled_distances(kernel)
    largest = exact.graph.node("Min", squared, float(np.finfo(pairs.graph.dtype).max))
    return pairs.graph.node("Neg", pairs.graph.cast(largest, pairs.graph.dtype))


def laplacian(kernel: Laplacian, pairs: Pairs) -> str:
    return _decay(pairs.graph, pairs.city_block, refuse_unsettled(kernel.scale))


def chi_square(kernel: ChiSquare, pairs: Pairs) -> str:
    return _decay(pairs.graph, pairs.chi_square, refuse_unsettled(kernel.scale))


def _decay(graph: Graph, distance: str, scale: float) -> str:
    return graph.node("Exp", graph.node("Div", distance, -scale))


def arc_cosine_kernel(kernel: ArcCosine, pairs: Pairs) -> str:
    graph = pairs.graph
    exact = pairs if kernel.order else pairs.in_float64()  # the slope of order 0 is infinite where samples coincide
    cosine = exact.graph.node("Clip", exact.cosines, -1.0, 1.0)
    values = graph.cast(_angular(exact.graph, cosine, kernel.order), graph.dtype)
    for factor in _arc_cosine_factors(kernel, pairs):
        values = graph.node("Mul", values, factor)
    return values


def _angular(graph: Graph, cosine: str, order: int) -> str:
    """J_n / pi of the angle, as the kernel's own formula has it."""
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


def _arc_cosine_factors(kernel: ArcCosine, pairs: Pairs) -> tuple[Any, ...]:
    """What the angular part is multiplied with: |x|^n |z|^n, over sqrt(k(x, x) k(z, z)) where normalised."""
    graph, order = pairs.graph, kernel.order
    if kernel.normalize:  # then only whether a sample is 0 matters
        something, nothing = ((1.0, sqrt(2.0)), (1.0, 0.0), (1.0 / sqrt(3.0), 0.0))[order]
        of_x = graph.node("Where", graph.node("Greater", pairs.squares, 0.0), something, nothing)
        return of_x, np.where(pairs.own_squares > 0, something, nothing)
    if order == 0:
        return ()
    of_x = pairs.squares if order == 2 else graph.node("Sqrt", pairs.squares)
    return of_x, pairs.own_squares ** (order / 2)


KERNELS: dict[type[Kernel], Callable[[Any, Pairs], str]] = {
    Linear: linear,
    Polynomial: polynomial,
    Hellinger: hellinger,
    Intersection: intersection,
    Gaussian: gaussian,
    Distance: distance,
    Laplacian: laplacian,
    ChiSquare: chi_square,
    ArcCosine: arc_cosine_kernel,
}
