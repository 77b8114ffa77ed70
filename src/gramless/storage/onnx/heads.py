"""Scores, probabilities and decisions of a classifier in a graph; numbers and deviations of a regressor.

All after the map is in float64, as in these: there are few numbers, and small probabilities decide as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gramless.deep_kernel import DeepKernel
from gramless.errors import GramlessError
from gramless.estimators.numbers import TargetScale
from gramless.heads import Calibration, Labels, Temperature, Threshold, TopGains, TopK
from gramless.heads.calibration import FARTHEST
from gramless.heads.ridge_path import RidgeSolution, Uncertainty
from gramless.network import output_values
from gramless.storage.onnx.functions import inverse_hyperbolic_sine
from gramless.storage.onnx.graph import Graph


def add_probabilities(graph: Graph, calibration: Calibration, scores: str) -> str:
    """least + (most - least) sigmoid(slope asinh((f - shift) / scale) + offset) of scores f: (n, n_labels)."""
    standard = graph.node("Div", graph.node("Sub", scores, calibration.shift), calibration.scale)
    unusual = graph.node("Clip", inverse_hyperbolic_sine(graph, standard), -FARTHEST, FARTHEST)
    odds = graph.node("Add", graph.node("Mul", unusual, calibration.slope), calibration.offset)
    against = graph.node("Exp", graph.node("Neg", odds))  # onnxruntime's own Sigmoid rounds small ones to 0
    certain = graph.node("Reciprocal", graph.node("Add", against, 1.0))
    return graph.node("Add", graph.node("Mul", certain, calibration.most - calibration.least), calibration.least)


def add_class_probabilities(graph: Graph, temperature: Temperature, scores: str, n_labels: int) -> str:
    """softmax(slope f) of the scores of classes; of one score of two classes, sigmoid(slope f) and the rest to one."""
    odds = graph.node("Mul", scores, temperature.slope)
    if n_labels == 1:
        odds = graph.node("Concat", graph.node("Mul", odds, -0.5), graph.node("Mul", odds, 0.5), axis=1)
    return graph.node("Softmax", odds, axis=1)


def add_classes(graph: Graph, labels: Labels, scores: str) -> str:
    """The class itself, with the highest score or on the side of a single one: (n,)."""
    if len(labels.classes) == 2:
        number = graph.cast(graph.node("Squeeze", graph.node("Greater", scores, 0.0), [1]), np.int64)
    else:
        number = graph.node("ArgMax", scores, axis=1, keepdims=0)
    return graph.in_type(np.float64).node("Gather", portable_classes(labels.classes), number)


def portable_classes(classes: np.ndarray) -> np.ndarray:
    """Classes as an ONNX file can hold them: int64, float64, truth values or texts."""
    if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
        raise GramlessError(
            f"the class {classes.max()} cannot be exported: whole numbers in the file are less than 2^63. Fit with "
            "smaller ones, or with the classes as texts."
        )
    for kinds, dtype in (("iu", np.int64), ("f", np.float64), ("b", np.bool_)):
        if classes.dtype.kind in kinds:
            return classes.astype(dtype)
    if all(isinstance(name, str) for name in classes.tolist()):
        return classes.astype(object)
    raise GramlessError(
        f"classes of type {classes.dtype} cannot be exported: an ONNX file knows numbers, truth values and texts. Fit "
        "with the classes as texts, or as numbers."
    )


def add_decision(graph: Graph, decision: Any, values: str, n_labels: int) -> str:
    """1 for every label that a sample gets, from scores or probabilities: (n, n_labels) int64."""
    return graph.cast(DECISIONS[type(decision)](graph, decision, values, n_labels), np.int64)


def threshold(graph: Graph, decision: Threshold, values: str, n_labels: int) -> str:
    return graph.node("Greater", values, np.asarray(decision.thresholds, dtype=np.float64))


def top_k(graph: Graph, decision: TopK, values: str, n_labels: int) -> str:
    return _best(graph, values, min(decision.k, n_labels))


def top_gains(graph: Graph, decision: TopGains, values: str, n_labels: int) -> str:
    gains = graph.node("Add", graph.node("Mul", values, decision.slope), decision.cost)
    possible = graph.node("Greater", gains, -np.inf)
    return graph.node("And", _best(graph, gains, min(decision.k, n_labels)), possible)


DECISIONS: dict[type, Callable[[Graph, Any, str, int], str]] = {
    Threshold: threshold,
    TopK: top_k,
    TopGains: top_gains,
}


def _best(graph: Graph, values: str, k: int) -> str:
    """Whether a label is among the k best of its sample; of equal ones the lower number is better."""
    numbers = graph.largest(values, k)
    nobody = graph.node("Expand", np.array(False), graph.node("Shape", values))
    everybody = graph.node("Expand", np.array(True), graph.node("Shape", numbers))
    return graph.node("ScatterElements", nobody, numbers, everybody, axis=1)


def constant_diagonal(kernel: DeepKernel) -> float | None:
    """kappa(x, x), if it is the same for every x: where all elementary kernels are of distances."""
    formulas = [entry.kernel.formula for entry in kernel.inputs]
    if not all(formula.statistic.is_distance for formula in formulas):
        return None
    at_zero = torch.zeros(1, 1, dtype=torch.float64)
    elementary = torch.stack([formula.diagonal(at_zero) for formula in formulas])
    return kernel.scale * output_values(kernel.layers, elementary).item()


def add_means(graph: Graph, targets: TargetScale, standard: str) -> str:
    """From standard numbers (n, n_targets) to those of the caller."""
    return graph.node("Add", graph.node("Mul", standard, targets.spread), targets.mean)


def add_deviations(
    graph: Graph, ridge: RidgeSolution, uncertainty: Uncertainty, targets: TargetScale, diagonal: float, vectors: str
) -> str:
    """sqrt(spread (k(x, x) - z^2 shrinkage) + noise) in the units of the targets, z the rotated vectors."""
    rotated = graph.node("MatMul", vectors, ridge.basis)
    known = graph.node("MatMul", graph.node("Mul", rotated, rotated), ridge.shrinkage)
    unknown = graph.node("Max", graph.node("Sub", diagonal, known), 0.0)
    variance = graph.node("Add", graph.node("Mul", unknown, uncertainty.spread), uncertainty.noise)
    return graph.node("Mul", graph.node("Sqrt", variance), np.asarray(targets.spread))
