"""The layers of a network in a graph: activations of weighted sums, for all pairs of a block at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gramless.deep_kernel import DeepKernel
from gramless.errors import GramlessError
from gramless.network import Activation, Layer
from gramless.network.activations import Exp, Identity, Power, Sinh, Tanh
from gramless.storage.onnx.arrays import as_array, dense
from gramless.storage.onnx.functions import hyperbolic_sine, polynomial
from gramless.storage.onnx.graph import Graph
from gramless.storage.onnx.kernels import add_kernel
from gramless.storage.onnx.pairs import Pairs
from gramless.views import Views

Rows = dict[str, str]
"""The views of a block of samples: names and the values (n, width) in the graph."""

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


def add_elementary(graph: Graph, kernel: DeepKernel, rows: Rows, points: Views, rows_at_once: int) -> list[str]:
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
