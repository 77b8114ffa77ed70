"""From views and labels to learned layers: which samples are learned from, which are held out, what is minimised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.estimators.unlabelled import labels_of, samples_of
from gramless.heads import Labels
from gramless.learning import (
    ElementaryValues,
    LaplacianObjective,
    Learning,
    LearningResult,
    LeaveOneOut,
    SemiSupervised,
    Supervised,
    SupervisedObjective,
    box,
    draw_stratified,
    hold_out_stratified,
    kernel_distances,
    learn,
    learn_by_leave_one_out,
    neighbour_laplacian,
    without_idle_inputs,
)
from gramless.learning.network_gradient import gram_matrix
from gramless.metrics import mean_average_precision
from gramless.network import Layer
from gramless.support.config import current_budget
from gramless.views import Views

MATRICES = 5  # n x n in float64 at once: the kernel, its inverse, the gradient, and what they are made from


@dataclass(frozen=True, eq=False)
class Roles:
    """Row numbers of the samples that are learned from, held out, and used without their labels."""

    train: np.ndarray
    validation: np.ndarray
    unlabelled: np.ndarray


def learn_kernel(
    kernel: DeepKernel, views: Views, y: Any, labelled: np.ndarray, settings: Learning, generator: torch.Generator
) -> tuple[DeepKernel, LearningResult]:
    """Learn the weights of an initialised network from samples, the labels of those marked, and nothing else."""
    _, signs = Labels.of(labels_of(y, labelled))
    if isinstance(settings, LeaveOneOut):
        return _by_leave_one_out(kernel, samples_of(views, labelled), signs, settings, generator)
    result = _through_duals(kernel, views, labelled, signs, settings, generator)
    return replace(kernel, layers=result.layers), result


def _by_leave_one_out(
    kernel: DeepKernel, views: Views, signs: np.ndarray, settings: LeaveOneOut, generator: torch.Generator
) -> tuple[DeepKernel, LearningResult]:
    """Of a network of one layer, kernels that come out with no weight to speak of are left out."""
    budget = current_budget()
    n_affordable = int((budget / (MATRICES * 8)) ** 0.5)
    drawn = draw_stratified(signs, min(settings.max_samples, max(2, n_affordable)), generator)
    drawn = drawn[torch.randperm(len(drawn), generator=generator).numpy()]
    elementary = ElementaryValues(kernel, views[drawn], None, budget)
    targets = torch.from_numpy(signs[drawn]).to(elementary.device, torch.float64)
    result = learn_by_leave_one_out(kernel.layers, elementary, targets - targets.mean(0), settings)
    if len(result.layers) > 1:
        return replace(kernel, layers=result.layers), result
    (layer,) = result.layers
    busy = without_idle_inputs(layer, elementary)
    inputs = tuple(kernel.inputs[q] for q in busy)
    return replace(kernel, inputs=inputs, layers=(Layer(layer.weights[:, busy], layer.activation),)), result


def _through_duals(
    kernel: DeepKernel,
    views: Views,
    labelled: np.ndarray,
    signs: np.ndarray,
    settings: Supervised,
    generator: torch.Generator,
) -> LearningResult:
    roles, train_signs, held_signs = assign_roles(labelled, signs, settings, generator)
    together = np.concatenate([roles.train, roles.unlabelled])
    elementary = ElementaryValues(
        kernel,
        views[together],
        views[roles.validation] if len(roles.validation) else None,
        current_budget(),
    )
    device = elementary.device
    train = torch.from_numpy(train_signs.T.astype(np.float32)).to(device)
    upper = box(train, settings.C)
    if isinstance(settings, SemiSupervised):
        graph = neighbour_laplacian(kernel_distances(gram_matrix(kernel.layers, elementary)), settings.n_neighbours)
        objective: Any = LaplacianObjective(train, upper, settings.gap, graph, settings.strength)
    else:
        objective = SupervisedObjective(train, upper, settings.gap)
    score = annotation_score(held_signs) if (held_signs > 0).any() else None
    return learn(kernel.layers, elementary, objective, score, settings, (train, torch.from_numpy(held_signs)))


def assign_roles(
    labelled: np.ndarray, signs: np.ndarray, settings: Supervised, generator: torch.Generator
) -> tuple[Roles, np.ndarray, np.ndarray]:
    """Draw who plays which role, and cut the signs accordingly; samples beyond max_samples play none."""
    rows = np.flatnonzero(labelled)
    drawn = draw_stratified(signs, settings.max_samples, generator)
    hold = hold_out_stratified(signs[drawn], settings.validation, generator)
    held, kept = drawn[hold], drawn[~hold]
    others = np.flatnonzero(~labelled)
    unlabelled = np.empty(0, dtype=int)
    if isinstance(settings, SemiSupervised):
        some = torch.randperm(len(others), generator=generator).numpy()[: max(0, settings.max_samples - len(drawn))]
        unlabelled = others[np.sort(some)]
    return Roles(rows[kept], rows[held], unlabelled), signs[kept], signs[held]


def annotation_score(held_signs: np.ndarray) -> Any:
    """The mean of the two mean average precisions, over samples and over labels."""
    truth = held_signs > 0

    def score(margins: Tensor) -> float:
        scores = margins.double().cpu().numpy()
        if truth.shape[1] == 1:
            return mean_average_precision(scores, truth, over="concepts")
        by_sample = mean_average_precision(scores, truth, over="samples")
        return (by_sample + mean_average_precision(scores, truth, over="concepts")) / 2

    return score
