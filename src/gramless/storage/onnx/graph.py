"""A thin builder of ONNX graphs: a value is the name of what a node puts out, numbers and arrays become constants."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from gramless.errors import GramlessError
from gramless.support.budget import readable
from gramless.views import Layout

OPSET = 20
IR_VERSION = 9  # of the same release as the opset, so that runtimes that know one read the other
MOST_BYTES = (1 << 31) - (1 << 20)  # of arrays; a protobuf message ends at 2 GiB

Value = str | float | Sequence[int] | np.ndarray
"""What a node takes: the name of a value, or a constant."""

ViewNodes = dict[str, str]
"""The views of a block of samples: names and the values (n, width) in the graph."""


class Constants:
    """The arrays of a file, each stored once however often it is used, and the names that are taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.tensors: list[Any] = []
        self._names = set(taken)
        self._known: dict[tuple[Any, ...], str] = {}
        self._bytes = 0

    def fresh(self, kind: str) -> str:
        """A name that nothing else has."""
        number = len(self._names)
        while f"{kind}_{number}" in self._names:
            number += 1
        self._names.add(f"{kind}_{number}")
        return f"{kind}_{number}"

    def add(self, array: np.ndarray) -> str:
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, hashlib.sha256(content).digest())
        if key not in self._known:
            self._bytes += len(content)
            if self._bytes > MOST_BYTES:
                raise GramlessError(
                    f"an ONNX file holds at most {readable(MOST_BYTES)} of arrays, and this model has more. Use fewer "
                    "landmarks, or fit on float32 views if they are float64."
                )
            self._known[key] = self.fresh("constant")
            self.tensors.append(numpy_helper.from_array(array, self._known[key]))
        return self._known[key]


class Graph:
    """Nodes of one graph, in the order in which they run.

    `main` is the graph of the file; the body of a Scan is a graph of its own that sees the values of those around it.
    What depends on constants alone belongs in `main`: a runtime computes it once, when it loads the file, and the file
    stays small.
    """

    def __init__(self, dtype: np.dtype, constants: Constants, main: Graph | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self._constants = constants
        self.main = main or self

    def in_type(self, dtype: type) -> Graph:
        """The same graph, in which numbers from now on are of another type."""
        main = None if self.main is self else self.main.in_type(dtype)
        other = Graph(np.dtype(dtype), self._constants, main)
        other.nodes = self.nodes
        return other

    def constant(self, value: Value) -> str:
        """The name of a value; floats get the type of the graph."""
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        return self._constants.add(np.ascontiguousarray(array).reshape(array.shape))

    def node(self, operator: str, *inputs: Value, **attributes: Any) -> str:
        """Add a node with one output, whose name is returned."""
        output = self._constants.fresh(operator)
        self.nodes.append(helper.make_node(operator, [self.constant(i) for i in inputs], [output], **attributes))
        return output

    def cast(self, value: str, dtype: Any) -> str:
        return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def largest(self, values: str, k: int) -> str:
        """The numbers (n, k) of the k largest of every row, the largest first; of equal ones the lower number."""
        numbers = self._constants.fresh("TopK")
        inputs = [values, self.constant([k])]
        self.nodes.append(helper.make_node("TopK", inputs, [self._constants.fresh("values"), numbers], axis=1))
        return numbers

    def put_out(self, name: str, value: str, dtype: Any) -> None:
        """Give a value a name of its own, and numbers the type that they leave the graph with."""
        if np.dtype(dtype) == object:
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        else:
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            self.nodes.append(helper.make_node("Cast", [value], [name], to=kind))

    def scan(self, sequences: Sequence[str], step: Callable[..., str], *, axis: int = 0) -> str:
        """step(body, item, ...) for the items of sequences along their first axis; results are stacked along `axis`."""
        items = [self._constants.fresh("item") for _ in sequences]
        body = self._inner("body", items, lambda body: [step(body, *items)])
        return self.node("Scan", *sequences, body=body, num_scan_inputs=len(sequences), scan_output_axes=[axis])

    def choose(self, condition: str, then: Callable[[Graph], Sequence[str]], otherwise: Sequence[str]) -> list[str]:
        """then(body) where a condition holds, and is computed only there; otherwise these values, of the same types."""
        yes = self._inner("branch", [], then)
        no = self._inner("branch", [], lambda body: [body.node("Identity", value) for value in otherwise])
        names = [self._constants.fresh("If") for _ in otherwise]
        self.nodes.append(helper.make_node("If", [condition], names, then_branch=yes, else_branch=no))
        return names

    def _inner(self, what: str, inputs: Sequence[str], write: Callable[[Graph], Sequence[str]]) -> Any:
        """A graph within this one, in its type; write(body) adds the nodes, and says what is put out."""
        body = Graph(self.dtype, self._constants, self.main)
        outputs, kind = write(body), helper.np_dtype_to_tensor_dtype(self.dtype)
        taken, given = ([helper.make_tensor_value_info(n, kind, None) for n in names] for names in (inputs, outputs))
        return helper.make_graph(body.nodes, self._constants.fresh(what), taken, given)

    def to_bytes(
        self, inputs: Sequence[Any], outputs: Sequence[Any], metadata: Mapping[str, str], producer: str
    ) -> bytes:
        graph = helper.make_graph(self.nodes, "gramless", inputs, outputs, self._constants.tensors)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="gramless",
            producer_version=producer,
        )
        helper.set_model_props(model, dict(metadata))
        return model.SerializeToString(deterministic=True)


def signature(name: str, dtype: Any, shape: Sequence[str | int]) -> Any:
    """An input or an output of a file; a text is the name of a size that may vary."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def multiply(graph: Graph, x: Value, first: np.ndarray, second: np.ndarray | None = None) -> str:
    """x first second, with the product of the two matrices where that is the smaller: one step, and less rounding."""
    if second is None:
        return graph.node("MatMul", x, first)
    product = first @ second
    if product.size <= first.size + second.size:
        return graph.node("MatMul", x, product)
    return graph.node("MatMul", graph.node("MatMul", x, first), second)


def in_row_blocks(
    graph: Graph,
    views: ViewNodes,
    layout: Layout,
    rows_at_once: int,
    evaluate: Callable[[Graph, ViewNodes], str],
    width: int,
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
