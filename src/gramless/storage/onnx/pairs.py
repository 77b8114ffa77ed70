"""Statistics of pairs of samples, one of a batch and one fixed, from which elementary kernels follow.

Sums over features of a function of two numbers have no operator of their own: the n x m x d terms are written out, so
they are taken for a few fixed samples at a time. Cost and precision are otherwise those of the engine in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import sqrt

import numpy as np

from gramless.kernels import Distance
from gramless.storage.onnx.functions import roots
from gramless.storage.onnx.graph import Graph

TERMS_AT_ONCE = 1 << 17  # of a sum over features: half a megabyte in float32, which a processor's cache holds
EXPONENT_ROUNDING = 2e-5  # at most, of a Gaussian's exponent
NOTHING_LEFT = 20.0  # exp(-20^2) is no float32, nor visible beside one


class Pairs:
    """Rows x (n, d) of one view in a graph, n <= rows_at_once, and fixed samples z (m, d).

    Statistics are added to the graph when they are first asked for, and are shared from then on.
    """

    def __init__(self, graph: Graph, x: str, z: np.ndarray, rows_at_once: int) -> None:
        self.graph, self.x, self.z = graph, x, z.astype(graph.dtype)
        self._rows_at_once = rows_at_once

    def in_float64(self) -> Pairs:
        """The same pairs, whose statistics are computed in float64."""
        wide = self.graph.in_type(np.float64)
        return Pairs(wide, wide.cast(self.x, np.float64), self.z, self._rows_at_once)

    @cached_property
    def products(self) -> str:
        """<x, z>: (n, m)."""
        return self.graph.node("Gemm", self.x, self.z, transB=1)

    @cached_property
    def squares(self) -> str:
        """|x|^2: (n, 1)."""
        return self.graph.node("ReduceSumSquare", self.x, [1], keepdims=1)

    @cached_property
    def own_squares(self) -> np.ndarray:
        """|z|^2, in float64: (m,)."""
        return np.square(self.z.astype(np.float64)).sum(1)

    @cached_property
    def sums(self) -> str:
        """sum_d x_d: (n, 1)."""
        return self.graph.node("ReduceSum", self.x, [1], keepdims=1)

    def root_products(self, root: int, normalize: bool) -> str:
        """sum_d (x_d z_d)^(1 / root), over the roots of its values at (x, x) and (z, z) if asked: (n, m)."""
        x, z = roots(self.graph, self.x, root), self.z.astype(np.float64) ** (1 / root)
        if normalize:
            x = self.graph.node(
                "Mul", x, inverse_root(self.graph, self.graph.node("ReduceSumSquare", x, [1], keepdims=1))
            )
            z = z * inverse_roots(np.square(z).sum(1))[:, None]
        return self.graph.node("Gemm", x, z.astype(self.graph.dtype), transB=1)

    @cached_property
    def cosines(self) -> str:
        """<x, z> / |x| |z|, 0 where one of them is 0: (n, m)."""
        unit_x = self.graph.node("Mul", self.x, inverse_root(self.graph, self.squares))
        unit_z = self.graph.main.node("Mul", self.z, inverse_roots(self.own_squares)[:, None])
        return self.graph.node("Gemm", unit_x, unit_z, transB=1)

    @cached_property
    def minima(self) -> str:
        """sum_d min(x_d, z_d): (n, m)."""
        return self._sum_over_features(lambda body, x, z: body.node("Min", x, z))

    @cached_property
    def city_block(self) -> str:
        """sum_d |x_d - z_d|: (n, m)."""
        return self._sum_over_features(lambda body, x, z: body.node("Abs", body.node("Sub", x, z)))

    @cached_property
    def chi_square(self) -> str:
        """sum_d (x_d - z_d)^2 / (x_d + z_d), with 0 / 0 = 0: (n, m)."""
        tiny = float(np.finfo(self.graph.dtype).tiny)

        def terms(body: Graph, x: str, z: str) -> str:
            difference = body.node("Sub", x, z)
            share = body.node("Div", difference, body.node("Add", x, body.node("Max", z, tiny)))
            return body.node("Mul", share, difference)

        return self._sum_over_features(terms)

    def squared_distances(self, gain: float) -> str:
        """gain^2 |x - z|^2: (n, m).

        By one matrix product of centred samples, cut off at a distance from all z at which the exponential of it is 0,
        so that no square overflows. Rounding is then bounded by how far the z are spread. Where that is too much, by
        the differences themselves.
        """
        graph, main = self.graph, self.graph.main
        centre = self.z.mean(0, dtype=np.float64)
        spread = float(np.square((self.z - centre) * gain).sum(1).max())
        if ((sqrt(spread) + sqrt(NOTHING_LEFT)) ** 2 + spread) * np.finfo(graph.dtype).eps > EXPONENT_ROUNDING:
            return self._sum_over_features(lambda body, x, z: _scaled_square(body, body.node("Sub", x, z), gain))
        a = graph.node("Mul", graph.node("Sub", self.x, centre), gain)
        b = main.node("Mul", main.node("Sub", self.z, centre), gain)
        cut = sqrt(spread) + NOTHING_LEFT
        return _squared_distances(graph, graph.node("Clip", a, -cut, cut), b)

    def scaled_distances(self, kernel: Distance) -> str:
        """|a - b|^2 of samples as the kernel scales them, by one matrix product: (n, m)."""
        centre, factors = kernel.centre.numpy(), kernel.factors.numpy()

        def scaled(graph: Graph, x: str) -> str:
            x = roots(graph, x, kernel.root)
            if kernel.scaling == "rows":
                x = graph.node("Mul", x, inverse_root(graph, graph.node("ReduceSumSquare", x, [1], keepdims=1)))
            return graph.node("Mul", graph.node("Sub", x, centre), factors)

        main = self.graph.main
        return _squared_distances(self.graph, scaled(self.graph, self.x), scaled(main, main.node("Identity", self.z)))

    def _sum_over_features(self, terms: Callable[[Graph, str, str], str]) -> str:
        """sum_d of terms(body, x (n, 1, d), z (some, d)): (n, m)."""
        graph, main = self.graph, self.graph.main
        m, d = self.z.shape
        n_groups = -(-m // max(1, TERMS_AT_ONCE // (self._rows_at_once * d)))
        some = -(-m // n_groups)
        filled = main.node("Pad", self.z, [0, 0, n_groups * some - m, 0])
        groups = main.node("Reshape", filled, [n_groups, some, d])
        each = graph.node("Unsqueeze", self.x, [1])

        def step(body: Graph, group: str) -> str:
            return body.node("ReduceSum", terms(body, each, group), [2], keepdims=0)

        sums = graph.scan([groups], step, axis=1)  # (n, n_groups, some)
        return graph.node("Slice", graph.node("Reshape", sums, [0, -1]), [0], [m], [1])


def _squared_distances(graph: Graph, a: str, b: str) -> str:
    """|a - b|^2 of rows a (n, d) and constants b (m, d): (n, m)."""
    main = graph.main
    own_a = graph.node("ReduceSumSquare", a, [1], keepdims=1)
    own_b = main.node("Transpose", main.node("ReduceSumSquare", b, [1], keepdims=1))
    products = graph.node("Gemm", a, b, own_b, transB=1, alpha=-2.0)
    return graph.node("Max", graph.node("Add", products, own_a), 0.0)


def _scaled_square(graph: Graph, value: str, gain: float) -> str:
    scaled = graph.node("Mul", value, gain)
    return graph.node("Mul", scaled, scaled)


def inverse_root(graph: Graph, value: str) -> str:
    """value^(-1/2), and 0 where a value is 0."""
    positive = graph.node("Where", graph.node("Greater", value, 0.0), value, np.inf)
    return graph.node("Reciprocal", graph.node("Sqrt", positive))


def inverse_roots(values: np.ndarray) -> np.ndarray:
    """The same of constants."""
    return 1.0 / np.sqrt(np.where(values > 0, values, np.inf))
