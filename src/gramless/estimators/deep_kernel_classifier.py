"""DeepKernelClassifier: a deep kernel network with an SVM on the Gram matrix; the paper's reference, DKN + SVM."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from gramless.blocks import Blocks
from gramless.deep_kernel import DeepKernel
from gramless.estimators.classifier import ViewsClassifier
from gramless.estimators.deep_kernel_network import DeepKernelNetwork
from gramless.estimators.parameters import HEAD_CONSTRAINTS, NETWORK_CONSTRAINTS, PENALTY
from gramless.estimators.unlabelled import samples_of
from gramless.heads import Head, fit_kernel_svms
from gramless.support.budget import require, resolve_budget
from gramless.support.checks import PLACE, Constraints, Options
from gramless.views import Views


class DeepKernelClassifier(ViewsClassifier):
    """A deep kernel network and one LIBSVM machine per label on its Gram matrix.

    Exact, and quadratic in the number of samples: the reference that DeepMapClassifier approximates at linear cost.

    Parameters
    ----------
    kernels, hidden, activation, output_activation, weights, learning, hidden_gain, output_gain, normalize
        The network, as in DeepKernelNetwork.
    C : float
        Penalty of the SVM; the network is scaled so that it means the same for all networks.
    class_weight : dict of classes to weights, "balanced", or None
        Weights of each class's samples; "balanced" gives the positives of a label as much weight as its negatives.
    views, device, memory_budget, random_state
        As in DeepKernelNetwork. The n x n Gram matrix is refused, before anything is computed, where it does not fit.

    Attributes
    ----------
    kernel_ : DeepKernel
    support_ : Views
        The training samples that any label's machine uses.
    classes_ : array
        The classes, or the numbers of the labels.
    """

    kernel_: DeepKernel
    support_: Views

    _parameter_constraints: ClassVar[Constraints] = (
        NETWORK_CONSTRAINTS
        | HEAD_CONSTRAINTS
        | PLACE
        | {"C": [PENALTY, Options(Real, {math.inf})]}  # which leaves no sample on the wrong side
    )

    def __init__(
        self,
        kernels: Any = "auto",
        hidden: Sequence[int] = (),
        *,
        activation: Any = "tanh",
        output_activation: Any = "exp",
        weights: Any = "random",
        learning: Any = "leave-one-out",
        hidden_gain: float | tuple[float, float] = (0.1, 2.0),
        output_gain: float | str = "auto",
        normalize: bool = True,
        C: float = 1.0,
        class_weight: Any = None,
        views: Mapping[str, Any] | None = None,
        device: str = "auto",
        memory_budget: int | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.hidden = hidden
        self.activation = activation
        self.output_activation = output_activation
        self.weights = weights
        self.learning = learning
        self.hidden_gain = hidden_gain
        self.output_gain = output_gain
        self.normalize = normalize
        self.C = C
        self.class_weight = class_weight
        self.views = views
        self.device = device
        self.memory_budget = memory_budget
        self.random_state = random_state

    def _fit(self, views: Views, y: Any, labelled: np.ndarray, signs: np.ndarray) -> Head:
        n = len(signs)
        require(
            2 * 8 * n**2,  # the matrix and LIBSVM's copy
            resolve_budget(self.memory_budget),
            what=f"an SVM on the {n:,} x {n:,} kernel matrix",
            remedy="Use DeepMapClassifier, whose cost is linear, or raise memory_budget.",
        )
        network = DeepKernelNetwork(**network_parameters(self)).fit(views, y)
        self.kernel_ = network.kernel_
        known = samples_of(views, labelled)
        gram = self.kernel_.tensor(known, known).double().cpu().numpy()
        weights = self.labels_.weights((signs > 0).sum(0), len(signs), self.class_weight)
        head = fit_kernel_svms(gram, signs, self.C, weights)
        used = np.flatnonzero(head.coefficients.any(axis=0))
        used = used if len(used) else np.array([0])
        self.support_ = known[used].dense(views.dtype)
        return replace(head, coefficients=head.coefficients[:, used])

    def _fit_blocks(self, blocks: Blocks) -> Head:
        raise ValueError(
            "a kernel machine needs the kernel matrix of all samples, and data in blocks is larger than that. Use "
            "DeepMapClassifier, whose cost is linear."
        )

    def check_fitted(self) -> None:
        super().check_fitted()
        self._check_layout(self.kernel_.layout)
        self.kernel_.check_samples(self.support_)

    @property
    def _n_head_features(self) -> int:
        return len(self.support_)

    def _known_sample(self) -> Views:
        return self.support_[:1]

    def _features(self, views: Views) -> np.ndarray:
        return self.kernel_.tensor(views, self.support_).cpu().numpy()


def network_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator that are those of its DeepKernelNetwork."""
    names = DeepKernelNetwork._get_param_names()
    return {name: getattr(estimator, name) for name in names}
