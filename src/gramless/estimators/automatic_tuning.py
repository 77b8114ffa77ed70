"""tuning="auto": landmarks are moved, first without labels and then a few steps with them, where that can be judged."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor

from gramless.dmn import CollapsedMap
from gramless.engine import is_movable
from gramless.errors import MemoryBudgetError
from gramless.estimators.deep_map_network import DeepMapNetwork
from gramless.estimators.network_learning import annotation_score
from gramless.estimators.unlabelled import samples_of
from gramless.tuning import finish_with_labels
from gramless.tuning.pairs import fresh_rows
from gramless.views import Views

FEWEST_JUDGES = 50  # samples besides the landmarks: their 1,225 pairs put a few maps in order, far fewer would guess
FEWEST_LABELLED = 50  # a tenth of them judges how long to move landmarks with labels


def tune_automatically(
    network: DeepMapNetwork, views: Views, labelled: np.ndarray, signs: np.ndarray, seed: int
) -> tuple[tuple[int, float], ...] | None:
    """Move the landmarks of a compiled map, if its kernels can be followed and there are samples to judge by.

    Samples without a label take part where none is needed; `signs` are those of the `labelled` rows. Returns how
    held-out samples were ranked after so many steps with labels, None where there were none. A memory budget without
    room is said: by default it is a share of what is free, and another day there may be more.
    """
    compiled = network.map_
    if not isinstance(compiled, CollapsedMap) or not all(is_movable(e.kernel) for e in compiled.kernel.inputs):
        return None
    if len(fresh_rows(views, compiled.landmarks, compiled.dtype)) < FEWEST_JUDGES:
        return None
    try:
        network.fine_tune(views).set_params(tuning="landmarks")
        if len(signs) < FEWEST_LABELLED:
            return None
        generator = torch.Generator().manual_seed(seed)
        assert isinstance(network.map_, CollapsedMap)
        known = samples_of(views, labelled)
        finished = finish_with_labels(network.map_, known, torch.from_numpy(signs), ranking, generator)
    except MemoryBudgetError as error:
        warnings.warn(f"tuning='auto' moves the landmarks no further: {error}", stacklevel=6)
        return None
    network.replace_map(finished.map)
    return finished.curve


def ranking(scores: Tensor, signs: Tensor) -> float:
    """How held-out samples are ranked: the mean of both mean average precisions, 0 where no label is positive."""
    truth = signs.numpy()
    return annotation_score(truth)(scores) if (truth > 0).any() else 0.0
