"""tuning="auto": landmarks are moved, first without labels and then a few steps with them, where that can be judged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gramless.engine import is_movable
from gramless.errors import MemoryBudgetError
from gramless.estimators.deep_map_network import DeepMapNetwork
from gramless.estimators.given_kernel import fitted_kernel
from gramless.estimators.inputs import generator_from
from gramless.estimators.unlabelled import samples_of
from gramless.heads.choosing import chosen_ridge
from gramless.heads.temperature import of_all_classes
from gramless.maps import CollapsedMap
from gramless.maps.tuning import finish_with_labels, ranking
from gramless.maps.tuning.held_out import fresh_rows
from gramless.support.config import Settings, config_context
from gramless.views import Views

FEWEST_JUDGES = 50  # samples besides the landmarks: their 1,225 pairs put a few maps in order, far fewer would guess
FEW_ERRORS = 0.02  # share of samples
FEWEST_LABELLED = 50  # a tenth of them judges how long to move landmarks with labels


@dataclass(frozen=True, eq=False)
class AutomaticTuning:
    """How held-out samples were ranked after so many steps with labels, and the map that no label has shaped.

    None each, where no step was taken with labels.
    """

    curve: tuple[tuple[int, float], ...] | None = None
    unshaped: CollapsedMap | None = None


def unfitted_map(model: Any, landmarks: Any) -> DeepMapNetwork:
    """The map that the parameters of a classifier or regressor ask for; its automatic tuning comes after the fit."""
    tuning = None if model.tuning == "auto" else model.tuning
    return DeepMapNetwork(
        model.kernel, model.n_landmarks, landmarks=landmarks, n_components=model.n_components, tuning=tuning
    )


def built_map(
    network: DeepMapNetwork,
    views: Views,
    y: Any,
    labelled: np.ndarray | None,
    signs: np.ndarray | None,
    seeds: list[int],
    automatic: bool,
    config: Settings,
) -> tuple[DeepMapNetwork, AutomaticTuning]:
    """A fitted map, and how it was tuned if that is automatic: all of a model that does not depend on its head.

    labelled, signs : of a classifier, which samples have labels, and those of these

    Everything that the answer depends on is an argument, settings of the machine included, so that an answer can be
    kept and found again (`memory`).
    """
    with config_context(**config):
        kernel = fitted_kernel(network.kernel, views, y, seeds[0])
        network = network.set_params(kernel=kernel, random_state=seeds[1]).fit_views(views)
        tuned = _tuned(network, views, labelled, signs, seeds[1]) if automatic else AutomaticTuning()
    return network, tuned


def _tuned(
    network: DeepMapNetwork, views: Views, labelled: np.ndarray | None, signs: np.ndarray | None, seed: int
) -> AutomaticTuning:
    """Move the landmarks of a compiled map, if its kernels can be followed and there are samples to judge by.

    Samples without a label take part where none is needed. A memory budget without room is said: by default it is a
    share of what is free, and another day there may be more.
    """
    if not can_be_tuned(network, views):
        return AutomaticTuning()
    known = views if labelled is None else samples_of(views, labelled)
    if signs is not None and errs_on_few(network.map_.transform(known).cpu().numpy(), signs):
        return AutomaticTuning()
    try:
        network.tune("landmarks", views, generator_from(network.random_state))
        network.set_params(tuning="landmarks")
        if signs is None or len(signs) < FEWEST_LABELLED:
            return AutomaticTuning()
        generator, moved = torch.Generator().manual_seed(seed), network.map_
        assert isinstance(moved, CollapsedMap)
        finished = finish_with_labels(moved, known, torch.from_numpy(signs), ranking, generator)
    except MemoryBudgetError as error:
        warnings.warn(f"tuning='auto' moves the landmarks no further: {error}", stacklevel=6)
        return AutomaticTuning()
    network.replace_map(finished.map)
    return AutomaticTuning(finished.curve, moved)


def errs_on_few(vectors: np.ndarray, signs: np.ndarray) -> bool:
    """Whether ridge regression on these vectors, of samples of one class each, is wrong on next to no left-out sample.

    There is nothing to win then, and moving landmarks takes longer than all the rest of a fit.
    """
    if signs.shape[1] > 1 and not ((signs > 0).sum(1) == 1).all():
        return False
    scores = of_all_classes(chosen_ridge(vectors, signs).scores)
    return bool((scores.argmax(1) != of_all_classes(signs).argmax(1)).mean() <= FEW_ERRORS)


def can_be_tuned(network: DeepMapNetwork, views: Views) -> bool:
    """Whether the kernels of a compiled map can be followed, and there are samples to judge by."""
    compiled = network.map_
    if not isinstance(compiled, CollapsedMap) or not all(is_movable(e.kernel) for e in compiled.kernel.inputs):
        return False
    return len(fresh_rows(views, compiled.landmarks, compiled.dtype)) >= FEWEST_JUDGES
