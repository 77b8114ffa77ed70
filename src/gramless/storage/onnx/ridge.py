"""Numbers and their standard deviations in a graph, in float64 as in the regressor."""

from __future__ import annotations

import numpy as np
import torch

from gramless.deep_kernel import DeepKernel
from gramless.estimators.numbers import TargetScale
from gramless.heads.ridge_path import RidgeSolution, Uncertainty
from gramless.kernels import Distance, Gaussian, Laplacian
from gramless.network import unit_values
from gramless.storage.onnx.graph import Graph

SELF_VALUES = {Distance: 0.0, Gaussian: 1.0, Laplacian: 1.0}
"""k(x, x) of elementary kernels for which it is the same for every x."""


def constant_diagonal(kernel: DeepKernel) -> float | None:
    """kappa(x, x), if it is the same for every x."""
    found = [SELF_VALUES.get(type(entry.kernel)) for entry in kernel.inputs]
    if None in found:
        return None
    elementary = torch.tensor(found, dtype=torch.float64)[:, None, None]
    return kernel.scale * unit_values(kernel.layers, elementary)[-1].item()


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
