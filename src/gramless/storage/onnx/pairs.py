"""Statistics of pairs of samples, one of a batch and one fixed, from which elementary kernels follow.

Sums over features of a function of two numbers have no operator of their own: the n x m x d terms are written out, so
they are taken for a few fixed samples at a time. Cost and precision are otherwise those of the engine in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import sqrt

import numpy as np
import torch

from gramless.kernels import Features, Statistic
from gramless.storage.onnx.functions import roots
from gramless.storage.onnx.graph import Graph, Value

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
        self._known: dict[tuple[str, Features | None], str] = {}

    @cached_property
    def in_float64(self) -> Pairs:
        """The same pairs, whose statistics are computed in float64."""
        wide = self.graph.in_type(np.float64)
        return Pairs(wide, wide.cast(self.x, np.float64), self.z, self._rows_at_once)

    def statistic(self, statistic: Statistic, features: Features | None) -> str:
        """T(x, z), but squared distances, which follow: (n, m)."""
        if statistic is Statistic.INNER_PRODUCT:
            return self._once(
                ("products", features), lambda: self._products(self._rows(features), self._fixed(features))
            )
        return self._once((statistic.name, None), lambda: self._sum_over_features(SUMMANDS[statistic]))

    def own(self, statistic: Statistic, features: Features | None) -> tuple[str, np.ndarray]:
        """T(x, x), (n, 1), and T(z, z), in float64: (m,)."""
        if statistic is Statistic.MINIMUM:
            sums = self._once(("sums", None), lambda: self.graph.node("ReduceSum", self.x, [1], keepdims=1))
            return sums, self.z.sum(1, dtype=np.float64)
        assert statistic is Statistic.INNER_PRODUCT, "a distance to itself is 0"
        z = self.z.astype(np.float64)
        if features is not None:
            z = features(torch.from_numpy(z)).numpy()
        return self._squares(features), np.square(z).sum(1)

    def cosines(self, features: Features | None) -> str:
        """<x, z> / |x| |z|, 0 where one of them is 0: (n, m)."""

        def products() -> str:
            graph, main = self.graph, self.graph.main
            _, own_z = self.own(Statistic.INNER_PRODUCT, features)
            unit_x = graph.node("Mul", self._rows(features), inverse_root(graph, self._squares(features)))
            return self._products(unit_x, main.node("Mul", self._fixed(features), inverse_roots(own_z)[:, None]))

        return self._once(("cosines", features), products)

    def _products(self, x: str, z: Value) -> str:
        return self.graph.node("Gemm", x, z, transB=1)

    def _rows(self, features: Features | None) -> str:
        """What the rows are turned into: (n, d)."""
        return self._once(("rows", features), lambda: _turned_into(features, self.graph, self.x))

    def _fixed(self, features: Features | None) -> Value:
        """The same of the fixed samples: (m, d)."""
        if features is None:
            return self.z
        main = self.graph.main
        return self._once(("fixed", features), lambda: _turned_into(features, main, main.node("Identity", self.z)))

    def _squares(self, features: Features | None) -> str:
        """|a|^2 of the rows: (n, 1)."""
        rows = self._rows(features)
        return self._once(("squares", features), lambda: self.graph.node("ReduceSumSquare", rows, [1], keepdims=1))

    def _once(self, key: tuple[str, Features | None], make: Callable[[], str]) -> str:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def squared_distances(self, features: Features | None, gain: float, *, decaying: bool) -> str:
        """gain^2 |x - z|^2 of the samples or their features: (n, m).

        By one matrix product. Samples themselves are centred first, and cut off, where the exponential of the distance
        is taken, at a distance from all z at which that is 0, so that no square overflows. Rounding is then bounded by
        how far the z are spread. Where that is too much, by the differences themselves.
        """
        graph, main = self.graph, self.graph.main
        if features is not None:
            a, b = self._rows(features), self._fixed(features)
            if gain != 1:
                a, b = graph.node("Mul", a, gain), main.node("Mul", b, gain)
            return _squared_distances(graph, a, b)
        centre = self.z.mean(0, dtype=np.float64)
        spread = float(np.square((self.z - centre) * gain).sum(1).max())
        if ((sqrt(spread) + sqrt(NOTHING_LEFT)) ** 2 + spread) * np.finfo(graph.dtype).eps > EXPONENT_ROUNDING:
            return self._sum_over_features(lambda body, x, z: _scaled_square(body, body.node("Sub", x, z), gain))
        a = graph.node("Mul", graph.node("Sub", self.x, centre), gain)
        b = main.node("Mul", main.node("Sub", self.z, centre), gain)
        if decaying:
            cut = sqrt(spread) + NOTHING_LEFT
            a = graph.node("Clip", a, -cut, cut)
        return _squared_distances(graph, a, b)

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


def _chi_square(body: Graph, x: str, z: str) -> str:
    difference = body.node("Sub", x, z)
    share = body.node("Div", difference, body.node("Add", x, body.node("Max", z, float(np.finfo(body.dtype).tiny))))
    return body.node("Mul", share, difference)


SUMMANDS: dict[Statistic, Callable[[Graph, str, str], str]] = {
    Statistic.MINIMUM: lambda body, x, z: body.node("Min", x, z),
    Statistic.CITY_BLOCK: lambda body, x, z: body.node("Abs", body.node("Sub", x, z)),
    Statistic.CHI_SQUARE: _chi_square,
}
"""What is summed over features, where that is no product; with 0 / 0 = 0."""


def _turned_into(features: Features | None, graph: Graph, x: str) -> str:
    """What samples are turned into before they are compared."""
    if features is None:
        return x
    x = roots(graph, x, features.root)
    if features.unit_rows:
        x = graph.node("Mul", x, inverse_root(graph, graph.node("ReduceSumSquare", x, [1], keepdims=1)))
    if features.centre is None or features.factors is None:
        return x
    return graph.node("Mul", graph.node("Sub", x, features.centre.numpy()), features.factors.numpy())


def _squared_distances(graph: Graph, a: str, b: Value) -> str:
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
