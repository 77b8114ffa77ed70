"""From views and labels to learned layers: which samples are learned from, which are held out, what is minimised."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from gramless.deep_kernel import DeepKernel
from gramless.estimators.kernel_heads import OnKernel
from gramless.estimators.unlabelled import labels_of, samples_of
from gramless.heads import Labels, choose
from gramless.heads.judging import Judgement
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
    learn_mixture,
    mean_kernel,
    neighbour_laplacian,
    spread,
    without_idle_parts,
)
from gramless.learning.network_gradient import gram_matrix
from gramless.maps.tuning import ranking
from gramless.network import Layer
from gramless.support.budget import affordable_samples
from gramless.support.config import current_budget
from gramless.views import Views

MATRICES = 5  # n x n in float64 at once: the kernel, its inverse, the gradient, and what they are made from
JUDGED = 1_024  # samples that networks are compared on
FAR_BEHIND = 2.5  # standard errors of paired differences between left-out samples

log = logging.getLogger("gramless")


@dataclass(frozen=True, eq=False)
class Roles:
    """Row numbers of the samples that are learned from, held out, and used without their labels."""

    train: np.ndarray
    validation: np.ndarray
    unlabelled: np.ndarray


def learn_kernel(
    kernel: DeepKernel,
    views: Views,
    y: Any,
    labelled: np.ndarray,
    settings: Learning,
    generator: torch.Generator,
    *,
    mixture: bool,
) -> tuple[DeepKernel, LearningResult]:
    """Learn the weights of an initialised network from samples, the labels of those marked, and nothing else.

    mixture : whether leave-one-out learning may put a sum of exponentials in the place of the single one
    """
    labels, signs = Labels.of(labels_of(y, labelled))
    if isinstance(settings, LeaveOneOut):
        known = samples_of(views, labelled)
        return _by_leave_one_out(kernel, known, labels, signs, settings, generator, mixture=mixture)
    result = _through_duals(kernel, views, labelled, signs, settings, generator)
    return replace(kernel, layers=result.layers), result


def _by_leave_one_out(
    kernel: DeepKernel,
    views: Views,
    labels: Labels,
    signs: np.ndarray,
    settings: LeaveOneOut,
    generator: torch.Generator,
    *,
    mixture: bool,
) -> tuple[DeepKernel, LearningResult]:
    """Kernels that come out with no weight to speak of are left out, unless the layers were asked for as they are."""
    budget = current_budget()
    n_wanted = min(settings.max_samples, len(signs))
    n_taken = affordable_samples(n_wanted, MATRICES * 8, budget, what="learning the kernel")
    drawn = draw_stratified(signs, n_taken, generator)
    drawn = drawn[torch.randperm(len(drawn), generator=generator).numpy()]
    elementary = ElementaryValues(kernel, views[drawn], None, budget)
    signs_of_drawn = torch.from_numpy(signs[drawn]).to(elementary.device, torch.float64)
    targets = signs_of_drawn - signs_of_drawn.mean(0)
    if mixture:
        names = [entry.view for entry in kernel.inputs]
        groups = [[q for q, name in enumerate(names) if name == view] for view in dict.fromkeys(names)]
        learned = learn_mixture(kernel.layers[0].activation, groups, elementary, targets, settings)
        kept = without_those_behind(learned.networks, elementary, signs[drawn], multilabel=labels.multilabel)
        result = LearningResult(mean_kernel([*kept.values()], elementary.first_tile()), learned.curve)
    else:
        result = learn_by_leave_one_out(kernel.layers, elementary, targets, settings)
        if len(result.layers) > 1:
            return replace(kernel, layers=result.layers), result
    layers, busy = without_idle_parts(result.layers, elementary)
    return replace(kernel, inputs=tuple(kernel.inputs[q] for q in busy), layers=layers), result


def without_those_behind(
    networks: Mapping[str, Sequence[Layer]], elementary: ElementaryValues, signs: np.ndarray, *, multilabel: bool
) -> dict[str, Sequence[Layer]]:
    """Those that are not behind the best by more than noise, by what ridge regression says of left-out samples.

    The samples are in random order, and the first of them are asked: as many on every machine. One eigendecomposition
    of n x n for each network.
    """
    first = elementary.first_tile()
    n = min(first.n_samples, JUDGED)
    signs = signs[:n]
    if not (np.ptp(signs, axis=0) > 0).any():
        return dict(networks)
    judged: dict[str, Judgement] = {}
    for name, layers in networks.items():
        gram = gram_matrix(layers, first)[:n, :n].double()
        on_kernel = OnKernel.of((gram / spread(gram)).cpu().numpy(), signs, [(1.0, 1.0)] * signs.shape[1], None)
        contest = on_kernel.contest(multilabel, 0)
        judged[name] = contest.judge(choose(contest, ("ridge",), None).scores)
    best = max(judged, key=lambda name: judged[name].score)
    behind = {name: judged[best].ahead_of(judgement) for name, judgement in judged.items()}
    kept = {name: layers for name, layers in networks.items() if behind[name] <= FAR_BEHIND}
    said = [f"{name} {judged[name].score:.1f}{'' if name in kept else ' (not used)'}" for name in judged]
    log.info("the kernel is a mean of networks, by their scores on left-out samples: %s", ", ".join(said))
    return kept


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
    signs = torch.from_numpy(held_signs)
    return lambda margins: ranking(margins, signs)
