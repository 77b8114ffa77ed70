"""Numbers below zero in views that had none: of kernels that were chosen by what the views held."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from torch import Tensor

from gramless.kernels.base import Domain
from gramless.views import Views
from gramless.views.arrays import lowest


def raised_to_zero(estimator: Any, views: Views) -> Views:
    """New samples as the kernels can take them: where these chose themselves, what is below zero counts as zero.

    A view without negative numbers in training gets kernels that are defined without them, and a new sample may lie a
    little below the least of the training samples: behind MinMaxScaler, say. That is said, and no reason to stop.
    Kernels that were asked for by name refuse such samples.
    """
    if not _chosen_by_data(estimator):
        return views
    kernel = estimator.kernel_ if hasattr(estimator, "kernel_") else estimator.map_network_.kernel_
    names = {entry.view for entry in kernel.inputs if entry.kernel.domain is Domain.NONNEGATIVE}
    below = {name: low for name in names if (low := lowest(views[name])) < 0}
    if not below:
        return views
    name, low = min(below.items(), key=lambda each: each[1])
    warnings.warn(
        f"view {name!r} goes down to {low:.6g}, but the samples that its kernels were chosen by had no number below 0: "
        "it counts as 0 here. Fit on such samples too, or name kernels of signed numbers, such as kernels='distance'.",
        stacklevel=5,
    )
    return Views({name: _raised(views[name]) if name in below else views[name] for name in views.names})


def _chosen_by_data(estimator: Any) -> bool:
    """Whether kernels="auto" was asked for, of the estimator itself or of the network that it was given."""
    network = estimator if hasattr(estimator, "kernels") else estimator.kernel
    chosen = "auto" if network is None else getattr(network, "kernels", None)
    return isinstance(chosen, str) and chosen == "auto"


def _raised(block: Any) -> Any:
    if isinstance(block, Tensor):
        return block.clamp_min(0)
    return block.maximum(0) if sparse.issparse(block) else np.maximum(block, 0)
