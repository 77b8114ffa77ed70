"""Recognising in a graph samples that are landmarks, to the last bit, at the cost of a few columns.

As few columns as can be are chosen in which all distinct landmarks differ. A sample can then only be the landmark that
it agrees with there, and that one is compared in full.
"""

from __future__ import annotations

import numpy as np

from gramless.storage.onnx.arrays import dense
from gramless.storage.onnx.graph import Graph
from gramless.storage.onnx.layers import Rows
from gramless.storage.onnx.pairs import Pairs
from gramless.views import Views


def add_known_rows(graph: Graph, rows: Rows, landmarks: Views, rows_at_once: int) -> tuple[str, str]:
    """For every row the number (n,) of a landmark, and whether it is that one (n, 1): of equal landmarks, the last."""
    x = graph.node("Concat", *rows.values(), axis=1)
    z = np.hstack([dense(landmarks, view) for view in rows])
    columns = telling_columns(z.astype(graph.dtype))
    telling = Pairs(graph, graph.node("Gather", x, columns, axis=1), z[:, columns], rows_at_once)
    agree = graph.cast(graph.node("Equal", telling.city_block, 0.0), np.float32)
    number = graph.node("ArgMax", agree, axis=1, keepdims=0, select_last_index=1)
    all_z = graph.main.node("Concat", *(graph.main.constant(dense(landmarks, view)) for view in rows), axis=1)
    difference = graph.node("Abs", graph.node("Sub", x, graph.node("Gather", all_z, number, axis=0)))
    return number, graph.node("Equal", graph.node("ReduceSum", difference, [1], keepdims=1), 0.0)


def telling_columns(z: np.ndarray) -> np.ndarray:
    """Columns in which any two rows that differ at all differ: those with the most values first, while they help."""
    ordered = np.sort(z, axis=0)
    n_values = (ordered[1:] != ordered[:-1]).sum(0)
    n_distinct = len(np.unique(z + 0.0, axis=0))
    groups = np.zeros(len(z), dtype=np.int64)
    chosen: list[int] = []
    for column in np.argsort(-n_values, kind="stable").tolist():
        _, codes = np.unique(z[:, column], return_inverse=True)
        finer, refined = np.unique(groups * len(z) + codes, return_inverse=True)
        if not chosen or len(finer) > groups.max() + 1:
            chosen.append(column)
            groups = refined
        if groups.max() + 1 == n_distinct:
            break
    return np.sort(np.array(chosen))
