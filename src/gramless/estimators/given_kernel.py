"""The `kernel` of an estimator: a kernel network that is handed over, to be fitted or as it is."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from gramless.deep_kernel import DeepKernel
from gramless.errors import DataError
from gramless.estimators.deep_kernel_network import DeepKernelNetwork
from gramless.learning import Learning, make_learning
from gramless.support.checks import Constraints
from gramless.support.config import Settings, config_context
from gramless.views import Views

KERNEL: Constraints = {"kernel": [DeepKernel, DeepKernelNetwork, FrozenEstimator, None]}
"""Of every estimator that builds on a kernel."""


def fitted_kernel(kernel: Any, views: Views, y: Any, random_state: Any) -> DeepKernel:
    """The kernel itself, or that of the network: of a clone that is fitted here, or of a frozen one as it is.

    kernel : None is a DeepKernelNetwork as it comes
    y : labels, or Numbers
    random_state : of a network that is fitted here and has none of its own
    """
    if isinstance(kernel, DeepKernel):
        return kernel
    if isinstance(kernel, FrozenEstimator):
        found = getattr(kernel, "kernel_", None)
        if not isinstance(found, DeepKernel):
            raise ValueError(f"kernel={kernel!r} has no deep kernel: freeze a DeepKernelNetwork that was fitted.")
        return found
    network = DeepKernelNetwork() if kernel is None else clone(kernel)
    if network.views is not None and set(network.views) != set(views.names):
        raise DataError(
            f"the kernel network cuts data into the views {list(network.views)}, but it gets {list(views.names)}: give "
            "views= to the estimator that the network is handed to."
        )
    if network.random_state is None:
        network.set_params(random_state=random_state)
    return network.fit_views(views, y).kernel_


def built_kernel(kernel: Any, views: Views, y: Any, random_state: Any, config: Settings) -> DeepKernel:
    """`fitted_kernel` with everything that it depends on, the machine's settings too: it can be kept (`memory`)."""
    with config_context(**config):
        return fitted_kernel(kernel, views, y, random_state)


def network_to_fit(kernel: Any) -> DeepKernelNetwork | None:
    """The network that a fit learns; None where the kernel is there already."""
    if kernel is None:
        return DeepKernelNetwork()
    return kernel if isinstance(kernel, DeepKernelNetwork) else None


def learning_of(kernel: Any) -> Learning | None:
    """How the network learns, or has learned, as far as is known: what is semi-supervised has y = -1 as a mark."""
    return make_learning(getattr(network_to_fit(kernel) or kernel, "learning", None))


def describe(tags: Any, kernel: Any) -> Any:
    """scikit-learn's tags of an estimator with those that follow from its kernel."""
    network = network_to_fit(kernel)
    if network is not None:
        of_network = get_tags(network)
        tags.input_tags.positive_only = of_network.input_tags.positive_only
        tags.target_tags.required |= of_network.target_tags.required
    tags.input_tags.sparse = True
    return tags
