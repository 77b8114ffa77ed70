"""Deep maps in a graph, from the views of a block of rows to vectors or scores: one function per map, and the layers.

`head` (n_components, n_labels) are a classifier's coefficients. Nobody asks a classifier for vectors, so that the last
projection and the head are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.errors import GramlessError
from gramless.maps import CollapsedMap
from gramless.maps.tuning import RepresenterMap
from gramless.network import Activation, Layer
from gramless.network.activations import Exp, Identity, Power, Sinh, Tanh
from gramless.storage.onnx.functions import hyperbolic_sine, polynomial
from gramless.storage.onnx.graph import Graph, ViewNodes, multiply
from gramless.storage.onnx.kernels import add_kernel
from gramless.storage.onnx.pairs import Pairs
from gramless.views import Views


def add_map(graph: Graph, deep_map: Any, rows: ViewNodes, rows_at_once: int, head: np.ndarray | None) -> str:
    """phi(x), or phi(x) head: (n, n_components) or (n, n_labels)."""
    return MAPS[type(deep_map)](graph, deep_map, rows, rows_at_once, head)


def collapsed(graph: Graph, deep_map: CollapsedMap, rows: ViewNodes, rows_at_once: int, head: np.ndarray | None) -> str:
    kernel, landmarks = deep_map.kernel, deep_map.landmarks
    elementary = add_elementary(graph, kernel, rows, landmarks, rows_at_once)
    responses = add_layers(graph, kernel.layers, elementary, len(landmarks))
    return multiply(graph, responses, kernel.scale * as_array(deep_map.projection.matrix), head)


def representer(
    graph: Graph, deep_map: RepresenterMap, rows: ViewNodes, rows_at_once: int, head: np.ndarray | None
) -> str:
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


MAPS: dict[type, Callable[[Graph, Any, ViewNodes, int, np.ndarray | None], str]] = {
    CollapsedMap: collapsed,
    RepresenterMap: representer,
}


def dtype_of(deep_map: Any) -> np.dtype:
    """The type that a map computes in."""
    return np.dtype(np.float64 if deep_map.dtype == torch.float64 else np.float32)


ACTIVATIONS: dict[type[Activation], Callable[[Graph, Any, str], str]] = {
    Tanh: lambda graph, activation, x: graph.node("Tanh", x),
    Sinh: lambda graph, activation, x: hyperbolic_sine(graph, x),
    Exp: lambda graph, activation, x: graph.node("Exp", x),
    Identity: lambda graph, activation, x: x,
    Power: lambda graph, activation, x: polynomial(graph, x, activation.coefficients),
}


def add_activation(graph: Graph, activation: Activation, values: str) -> str:
    if type(activation) not in ACTIVATIONS:
        raise GramlessError(
            f"a network with an activation of type {type(activation).__name__} cannot be exported: an ONNX file has no "
            "Python functions. Use tanh, sinh, exp, identity or the coefficients of a polynomial."
        )
    return ACTIVATIONS[type(activation)](graph, activation, values)


def add_elementary(graph: Graph, kernel: DeepKernel, rows: ViewNodes, points: Views, rows_at_once: int) -> list[str]:
    """Every elementary kernel between the rows and the points: (n, n_points) each."""
    pairs = {view: Pairs(graph, x, dense(points, view), rows_at_once) for view, x in rows.items()}
    return [add_kernel(entry.kernel, pairs[entry.view]) for entry in kernel.inputs]


def add_layers(graph: Graph, layers: Sequence[Layer], elementary: Sequence[str], n_points: int) -> str:
    """The output kernel of every pair, without the network's scale: (n, n_points)."""
    values = flatten(graph, elementary)
    for layer in layers:
        values = add_activation(graph, layer.activation, graph.node("MatMul", as_array(layer.weights), values))
    return graph.node("Reshape", values, [-1, n_points])


def flatten(graph: Graph, planes: Sequence[str]) -> str:
    """Planes (n, m) as the rows of one matrix, (n_planes, n m)."""
    return graph.node("Reshape", graph.node("Concat", *planes, axis=0), [len(planes), -1])


def as_array(tensor: Tensor) -> np.ndarray:
    """Fixed numbers in float64; the graph rounds them once to its own type."""
    return tensor.detach().double().cpu().numpy()


def dense(points: Views, view: str) -> np.ndarray:
    """Fixed samples of one view: (n_points, width)."""
    return np.asarray(Views({view: points[view]}), dtype=np.float64)
