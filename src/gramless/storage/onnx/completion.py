"""Rows of views that samples lack, in a graph: those of `gramless.views.completion`, in float64 as there."""

from __future__ import annotations

from functools import reduce

import numpy as np

from gramless.storage.onnx.graph import Graph
from gramless.storage.onnx.layers import Rows
from gramless.views.completion import Completion


def add_completion(graph: Graph, completion: Completion, rows: Rows) -> Rows:
    """The same rows with those that are NaN in every column completed; computed only where there are any.

    A sample that has no view at all, and a NaN among numbers, stay NaN.
    """
    lacks = {view: _lacks(graph, rows[view]) for view in completion.known}
    worst = graph.node("ReduceMax", graph.node("Concat", *lacks.values(), axis=1), keepdims=0)
    any_lacks = graph.cast(worst, bool)

    def completed(body: Graph) -> list[str]:
        return _completed(body, completion, rows, lacks)

    return dict(zip(rows, graph.choose(any_lacks, completed, [*rows.values()]), strict=True))


def _lacks(graph: Graph, x: str) -> str:
    """1 where a row is NaN in every column, (n, 1)."""
    return graph.node("ReduceMin", graph.cast(graph.node("IsNaN", x), np.float32), [1], keepdims=1)


def _completed(body: Graph, completion: Completion, rows: Rows, lacks: Rows) -> list[str]:
    graph = body.in_type(np.float64)
    main = graph.main
    points, totals, common = {}, [], []
    for view, z in completion.known.items():
        centre, scale = completion.centres[view].numpy(), completion.scales[view]
        # Stored as the map's own landmarks are, so that the file holds them once.
        stored = body.constant(z.numpy() + centre)
        points[view] = main.node("Sub", main.cast(stored, np.float64), centre)
        missing = graph.cast(lacks[view], bool)
        x = graph.node("Where", missing, 0.0, graph.node("Sub", graph.cast(rows[view], np.float64), centre))
        own = graph.node("Add", graph.node("ReduceSumSquare", x, [1], keepdims=1), np.square(z.numpy()).sum(1))
        squares = graph.node("Max", graph.node("Gemm", x, points[view], own, transB=1, alpha=-2.0), 0.0)
        has = graph.node("Sub", 1.0, graph.cast(lacks[view], np.float64))
        totals.append(graph.node("Mul", squares, graph.node("Div", has, scale)))
        common.append(has)
    total, n_common = (reduce(lambda a, b: graph.node("Add", a, b), terms) for terms in (totals, common))
    distances = graph.node("Div", total, n_common)
    found = []
    for view, x in rows.items():
        weights = graph.node("Softmax", graph.node("Mul", distances, -1.0 / completion.widths[view]), axis=1)
        row = graph.node("Add", graph.node("MatMul", weights, points[view]), completion.centres[view].numpy())
        found.append(graph.node("Where", graph.cast(lacks[view], bool), graph.cast(row, body.dtype), x))
    return found
