"""Deep maps in a graph: one function per map, from the views of a block of rows to vectors or scores.

`head` (n_components, n_labels) are a classifier's coefficients. Nobody asks a classifier for vectors, so that the last
projection and the head are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gramless.maps import CollapsedMap
from gramless.maps.tuning import RepresenterMap
from gramless.network import Layer
from gramless.storage.onnx.arrays import as_array
from gramless.storage.onnx.graph import Graph, multiply
from gramless.storage.onnx.layers import Rows, add_activation, add_elementary, add_layers, flatten


def add_map(graph: Graph, deep_map: Any, rows: Rows, rows_at_once: int, head: np.ndarray | None) -> str:
    """phi(x), or phi(x) head: (n, n_components) or (n, n_labels)."""
    return MAPS[type(deep_map)](graph, deep_map, rows, rows_at_once, head)


def collapsed(graph: Graph, deep_map: CollapsedMap, rows: Rows, rows_at_once: int, head: np.ndarray | None) -> str:
    kernel, landmarks = deep_map.kernel, deep_map.landmarks
    elementary = add_elementary(graph, kernel, rows, landmarks, rows_at_once)
    responses = add_layers(graph, kernel.layers, elementary, len(landmarks))
    return multiply(graph, responses, kernel.scale * as_array(deep_map.projection.matrix), head)


def representer(graph: Graph, deep_map: RepresenterMap, rows: Rows, rows_at_once: int, head: np.ndarray | None) -> str:
    kernel, n_points = deep_map.kernel, len(deep_map.points)
    first, *later = kernel.layers
    elementary = flatten(graph, add_elementary(graph, kernel, rows, deep_map.points, rows_at_once))
    sums = graph.node(
        "Reshape", graph.node("MatMul", as_array(first.weights), elementary), [first.n_units, -1, n_points]
    )
    values = multiply(graph, sums, as_array(deep_map.coefficients))  # (n_units, n, N)
    *hidden, last = (as_array(U) for U in deep_map.projections)
    for before, layer, U, anchors in zip(kernel.layers[:-1], later, hidden, deep_map.anchors, strict=True):
        maps = multiply(graph, add_activation(graph, before.activation, values), U)  # (n_inputs, n, r)
        beside = graph.node("Reshape", graph.node("Transpose", maps, perm=[1, 0, 2]), [0, -1])  # (n, n_inputs r)
        values = multiply(graph, beside, _weighted_anchors(layer, as_array(anchors)))
    output = graph.node("Squeeze", add_activation(graph, kernel.layers[-1].activation, values), [0])
    return multiply(graph, output, kernel.scale * last[0], head)


def _weighted_anchors(layer: Layer, anchors: np.ndarray) -> np.ndarray:
    """From (n_units, n_inputs, N, r): sqrt(w_pq) times every fragment, as matrices (n_units, n_inputs r, N)."""
    weighted = np.sqrt(as_array(layer.weights))[:, :, None, None] * anchors
    n_units, n_inputs, n_anchors, r = anchors.shape
    return weighted.transpose(0, 1, 3, 2).reshape(n_units, n_inputs * r, n_anchors)


MAPS: dict[type, Callable[[Graph, Any, Rows, int, np.ndarray | None], str]] = {
    CollapsedMap: collapsed,
    RepresenterMap: representer,
}


def dtype_of(deep_map: Any) -> np.dtype:
    """The type that a map computes in."""
    return np.dtype(np.float64 if deep_map.dtype == torch.float64 else np.float32)
