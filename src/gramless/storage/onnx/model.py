"""From a fitted model to the bytes of its ONNX file."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramless.errors import GramlessError
from gramless.estimators import DeepMapClassifier, DeepMapNetwork, DeepMapRegressor
from gramless.heads import Calibration, Temperature, TopGains
from gramless.storage.onnx import heads
from gramless.storage.onnx.completion import add_completion
from gramless.storage.onnx.graph import Constants, Graph, ViewNodes, in_row_blocks, signature
from gramless.storage.onnx.maps import add_map, dtype_of
from gramless.version import __version__
from gramless.views import Layout, Views, loses_nothing
from gramless.views.completion import Completion

OUTPUTS = ("vectors", "scores", "probabilities", "classes", "labels", "predictions", "std")


def model_bytes(model: Any, rows_at_once: int) -> bytes:
    """The file of a map, of a classifier or regressor on one, or of what has a `classifier` and `keywords` for it."""
    classifier = getattr(model, "classifier", model)
    if not isinstance(classifier, (DeepMapNetwork, DeepMapClassifier, DeepMapRegressor)):
        raise GramlessError(
            f"a {type(model).__name__} cannot be exported: what runs elsewhere is an explicit map. Compile the network "
            "with DeepMapNetwork, or use DeepMapClassifier or DeepMapRegressor."
        )
    check_is_fitted(classifier)
    network = classifier if isinstance(classifier, DeepMapNetwork) else classifier.map_network_
    _warn_of_blurred_columns(network.known_samples())
    exporter = Exporter(network, rows_at_once)
    if isinstance(classifier, DeepMapClassifier):
        exporter.add_classifier(classifier)
    elif isinstance(classifier, DeepMapRegressor):
        exporter.add_regressor(classifier)
    else:
        exporter.add_vectors()
    metadata = {"kind": type(model).__name__}
    if isinstance(classifier, DeepMapClassifier):
        metadata["classes"] = json.dumps(heads.portable_classes(classifier.classes_).tolist())
    if classifier is not model:
        metadata["keywords"] = json.dumps(list(model.keywords))
    return exporter.to_bytes(metadata)


def _warn_of_blurred_columns(known: Views) -> None:
    """Training data in float64 may tell apart what the inputs of the file cannot."""
    blurred = [name for name in known.names if not loses_nothing(known.array(name, np.dtype(np.float64)))]
    if blurred:
        warnings.warn(
            f"the inputs of an ONNX file are float32, which rounds away much of what columns of the views {blurred} "
            "differ by: the file will answer otherwise than the model. Fit on columns without their large offset, such "
            "as x - x.mean(0), and give the file the same.",
            stacklevel=4,
        )


class Exporter:
    """One file in the making: its inputs, what is computed from them, and its outputs."""

    def __init__(self, network: DeepMapNetwork, rows_at_once: int) -> None:
        self._map, self._rows_at_once = network.map_, rows_at_once
        self._layout: Layout = network.kernel_.layout
        bad = [name for name in self._layout if not name or name in OUTPUTS]
        if bad:
            raise GramlessError(
                f"views named {bad} cannot be exported: inputs and outputs of an ONNX file have different names, and "
                f"its outputs are {', '.join(OUTPUTS)}. Give those views other names and fit again."
            )
        self._completion = Completion.of(network.known_samples()) if len(self._layout) > 1 else None
        self._graph = Graph(dtype_of(self._map), Constants([*self._layout, *OUTPUTS]))
        self._outputs: list[Any] = []

    def add_vectors(self) -> None:
        vectors = self._add_map(None, self._map.n_components)
        self._put_out("vectors", vectors, np.float32, [self._map.n_components])

    def add_classifier(self, classifier: DeepMapClassifier) -> None:
        head, labels = classifier.head_, classifier.labels_
        n_labels = len(head.intercepts)
        margins = self._add_map(head.coefficients.T.astype(np.float64), n_labels)
        graph = self._graph.in_type(np.float64)
        margins = graph.node("Add", graph.cast(margins, np.float64), head.intercepts.astype(np.float64))
        if labels.multilabel:
            self._put_out("scores", margins, np.float32, [n_labels])
            self._add_labels(graph, classifier, margins, n_labels)
            return
        single = n_labels == 1
        scores = graph.node("Squeeze", margins, [1]) if single else margins
        self._put_out("scores", scores, np.float32, [] if single else [n_labels])
        assert isinstance(classifier.calibration_, Temperature)
        probabilities = heads.add_class_probabilities(graph, classifier.calibration_, margins, n_labels)
        self._put_out("probabilities", probabilities, np.float32, [len(labels.classes)])
        self._put_out(
            "classes", heads.add_classes(graph, labels, margins), heads.portable_classes(labels.classes).dtype, []
        )

    def add_regressor(self, regressor: DeepMapRegressor) -> None:
        """Deviations only where k(x, x) is the same for every x: others would need every kernel a second time."""
        ridge, targets = regressor.ridge_, regressor.targets_
        diagonal = heads.constant_diagonal(regressor.map_network_.kernel_)
        graph = self._graph.in_type(np.float64)
        if diagonal is None:
            answers = self._add_map(ridge.coefficients.T, targets.n_targets)
            means = heads.add_means(graph, targets, graph.cast(answers, np.float64))
        else:
            vectors = graph.cast(self._add_map(None, self._map.n_components), np.float64)
            means = heads.add_means(graph, targets, graph.node("MatMul", vectors, ridge.coefficients.T))
            deviations = heads.add_deviations(graph, ridge, regressor.uncertainty_, targets, diagonal, vectors)
            self._put_out("std", deviations, np.float32, [targets.n_targets])
        self._put_out("predictions", means, np.float32, [targets.n_targets])

    def _add_labels(self, graph: Graph, classifier: DeepMapClassifier, margins: str, n_labels: int) -> None:
        assert isinstance(classifier.calibration_, Calibration)
        probabilities = heads.add_probabilities(graph, classifier.calibration_, margins)
        self._put_out("probabilities", probabilities, np.float32, [n_labels])
        comparable = probabilities if isinstance(classifier.decision_, TopGains) else margins
        labels = heads.add_decision(graph, classifier.decision_, comparable, n_labels)
        self._put_out("labels", labels, np.int64, [n_labels])

    def _add_map(self, head: np.ndarray | None, width: int) -> str:
        graph = self._graph
        views: ViewNodes = {name: graph.cast(name, graph.dtype) for name in self._layout}

        def evaluate(body: Graph, rows: ViewNodes) -> str:
            known = rows if self._completion is None else add_completion(body, self._completion, rows)
            return add_map(body, self._map, known, self._rows_at_once, head)

        return in_row_blocks(graph, views, self._layout, self._rows_at_once, evaluate, width)

    def _put_out(self, name: str, value: str, dtype: Any, shape: list[int]) -> None:
        """Under its name, as numbers of this type; texts as they are."""
        self._graph.put_out(name, value, dtype)
        self._outputs.append(signature(name, dtype, ["batch", *shape]))

    def to_bytes(self, metadata: dict[str, str]) -> bytes:
        inputs = [signature(name, np.float32, ["batch", width]) for name, width in self._layout.items()]
        facts = {"gramless": __version__, "views": json.dumps(self._layout), **metadata}
        return self._graph.to_bytes(inputs, self._outputs, facts, __version__)
