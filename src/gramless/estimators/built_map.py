"""The learned network, and its map: all of a classifier that does not depend on its head."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramless.deep_kernel import DeepKernel
from gramless.estimators.automatic_tuning import AutomaticTuning, tune_automatically
from gramless.estimators.deep_map_network import DeepMapNetwork
from gramless.estimators.given_kernel import fitted_kernel
from gramless.support.config import Settings, config_context
from gramless.views import Views


def built_kernel(kernel: Any, views: Views, y: Any, random_state: Any, config: Settings) -> DeepKernel:
    """The kernel of a network that is fitted here, or the one that is there already; see `built_map`."""
    with config_context(**config):
        return fitted_kernel(kernel, views, y, random_state)


def built_map(
    network: DeepMapNetwork,
    views: Views,
    y: Any,
    labelled: np.ndarray,
    signs: np.ndarray,
    seeds: list[int],
    automatic: bool,
    config: Settings,
) -> tuple[DeepMapNetwork, AutomaticTuning]:
    """A fitted map, and how it was tuned if that is automatic.

    Everything that the answer depends on is an argument, settings of the machine included, so that an answer can be
    kept and found again (`memory`).
    """
    with config_context(**config):
        kernel = fitted_kernel(network.kernel, views, y, seeds[0])
        network = network.set_params(kernel=kernel, random_state=seeds[1]).fit_views(views)
        tuned = tune_automatically(network, views, labelled, signs, seeds[1]) if automatic else AutomaticTuning()
    return network, tuned
