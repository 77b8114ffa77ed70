"""A batch of any size in blocks of rows, inside the graph: memory is bounded whatever a caller sends at once."""

from __future__ import annotations

from collections.abc import Callable

from gramless.storage.onnx.graph import Graph
from gramless.storage.onnx.layers import Rows
from gramless.views import Layout


def in_row_blocks(
    graph: Graph, views: Rows, layout: Layout, rows_at_once: int, evaluate: Callable[[Graph, Rows], str], width: int
) -> str:
    """evaluate(body, rows) on at most rows_at_once rows at a time: (n, width).

    Blocks of n rows are as few as can be and of equal size. Rows of zeros fill up the last one, and are the only block
    of an empty batch; their answers are cut off.
    """
    one = [1]
    n = graph.node("Shape", next(iter(views.values())), start=0, end=1)
    n_blocks = graph.node("Max", _quotient(graph, n, [rows_at_once]), one)
    n_rows = graph.node("Max", _quotient(graph, n, n_blocks), one)
    n_missing = graph.node("Sub", graph.node("Mul", n_blocks, n_rows), n)
    blocks = []
    for view, x in views.items():
        filled = graph.node("Pad", x, graph.node("Concat", [0, 0], n_missing, [0], axis=0))
        shape = graph.node("Concat", n_blocks, n_rows, [layout[view]], axis=0)
        blocks.append(graph.node("Reshape", filled, shape))
    values = graph.scan(blocks, lambda body, *items: evaluate(body, dict(zip(views, items, strict=True))))
    flat = graph.node("Reshape", values, [-1, width])
    return graph.node("Slice", flat, [0], n, [0])


def _quotient(graph: Graph, numerator: str, denominator: str | list[int]) -> str:
    """Rounded up, of whole numbers."""
    above = graph.node("Sub", graph.node("Add", numerator, denominator), [1])
    return graph.node("Div", above, denominator)
