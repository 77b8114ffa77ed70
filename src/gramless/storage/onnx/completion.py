"""Rows of views that samples lack, in a graph: those of `gramless.views.completion`, in float64 as there."""

from __future__ import annotations

import numpy as np

from gramless.storage.onnx.graph import Graph, ViewNodes
from gramless.views.completion import ROUNDS, WIDTH, Completion, Units


def add_completion(graph: Graph, completion: Completion, rows: ViewNodes) -> ViewNodes:
    """The same rows with those that are NaN in every column completed; computed only where there are any.

    A sample that has no view at all, and a NaN among numbers, stay NaN.
    """
    lacks = {view: _lacks(graph, x) for view, x in rows.items()}
    everywhere = graph.node("Concat", *lacks.values(), axis=1)
    nothing = graph.node("ReduceMin", everywhere, [1], keepdims=1)
    missing = {view: graph.cast(graph.node("Sub", mark, nothing), bool) for view, mark in lacks.items()}
    any_missing = graph.cast(graph.node("ReduceMax", everywhere, keepdims=0), bool)

    def completed(body: Graph) -> list[str]:
        return _completed(body, completion, rows, missing)

    return dict(zip(rows, graph.choose(any_missing, completed, [*rows.values()]), strict=True))


def _lacks(graph: Graph, x: str) -> str:
    """1 where a row is NaN in every column: (n, 1)."""
    return graph.node("ReduceMin", graph.cast(graph.node("IsNaN", x), np.float32), [1], keepdims=1)


def _completed(body: Graph, completion: Completion, rows: ViewNodes, missing: ViewNodes) -> list[str]:
    graph = body.in_type(np.float64)
    x, distances = {}, {}
    known = {view: _known(body, completion, view) for view in rows}
    for view, row in rows.items():
        units = completion.units[view]
        measured = _measured(graph, units, graph.cast(row, np.float64))
        x[view] = graph.node("Where", missing[view], 0.0, measured)
        distances[view] = _distances(graph, completion, view, x[view], known[view])
    for view in [*rows] * ROUNDS:
        units, regression = completion.units[view], completion.regressions[view]
        others = [distances[other] for other in rows if other != view]
        exponents = graph.node("Div", graph.node("Sum", *others), -WIDTH * len(others))
        expected = graph.node("MatMul", graph.node("Exp", exponents), regression.weights.numpy())
        expected = graph.node("Add", expected, regression.mean.numpy())
        within = _measured(graph, units, _back(graph, units, expected))
        x[view] = graph.node("Where", missing[view], within, x[view])
        distances[view] = _distances(graph, completion, view, x[view], known[view])
    found = []
    for view, row in rows.items():
        back = _back(graph, completion.units[view], x[view])
        found.append(graph.node("Where", missing[view], graph.cast(back, body.dtype), row))
    return found


def _known(body: Graph, completion: Completion, view: str) -> str:
    """The known samples of a view in its units; stored as the map's landmarks are, so that a file holds them once."""
    units, main = completion.units[view], body.in_type(np.float64).main
    stored = body.constant(units.back(completion.known[view]).numpy())
    return _measured(main, units, main.cast(stored, np.float64))


def _measured(graph: Graph, units: Units, rows: str) -> str:
    return graph.node("Div", graph.node("Sub", rows, units.centre.numpy()), units.scale)


def _back(graph: Graph, units: Units, rows: str) -> str:
    back = graph.node("Add", graph.node("Mul", rows, units.scale), units.centre.numpy())
    return graph.node("Min", graph.node("Max", back, units.low.numpy()), units.high.numpy())


def _distances(graph: Graph, completion: Completion, view: str, x: str, known: str) -> str:
    own = graph.node("ReduceSumSquare", x, [1], keepdims=1)
    squares = graph.node("Add", own, completion.known[view].square().sum(1).numpy())
    return graph.node("Max", graph.node("Gemm", x, known, squares, transB=1, alpha=-2.0), 0.0)
