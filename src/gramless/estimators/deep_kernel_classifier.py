"""DeepKernelClassifier: a deep kernel network with an SVM on the Gram matrix; the paper's reference, DKN + SVM."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from gramless.blocks import Blocks
from gramless.deep_kernel import DeepKernel
from gramless.estimators.classifier import ViewsClassifier
from gramless.estimators.given_kernel import KERNEL, fitted_kernel
from gramless.estimators.parameters import HEAD_CONSTRAINTS, PENALTY
from gramless.estimators.unlabelled import samples_of
from gramless.heads import Head, fit_kernel_svms
from gramless.support.budget import require
from gramless.support.checks import INPUT, Constraints, Options
from gramless.support.config import current_budget
from gramless.views import Views, check_layout


class DeepKernelClassifier(ViewsClassifier):
    """A deep kernel network and one LIBSVM machine per label on its Gram matrix.

    Exact, and quadratic in the number of samples: the reference that DeepMapClassifier approximates at linear cost.

    Parameters
    ----------
    kernel : DeepKernelNetwork, DeepKernel, FrozenEstimator or None
        A network, which is cloned and fitted here; a kernel, or a frozen network, that is used as it is; None is a
        DeepKernelNetwork as it comes. To search over a network's parameters (`kernel__hidden`), give one.
    C : float
        Penalty of the SVM; the network is scaled so that it means the same for all networks.
    class_weight : dict of classes to weights, "balanced", or None
        Weights of each class's samples; "balanced" gives the positives of a label as much weight as its negatives.
    views, random_state
        As in DeepKernelNetwork; a network without a random_state of its own is seeded from this one.

    The n x n Gram matrix is refused, before anything is computed, where it does not fit into the memory budget.

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
        KERNEL
        | HEAD_CONSTRAINTS
        | INPUT
        | {"C": [PENALTY, Options(Real, {math.inf})]}  # which leaves no sample on the wrong side
    )

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 1.0,
        class_weight: Any = None,
        views: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.views = views
        self.random_state = random_state

    def _fit(self, views: Views, y: Any, labelled: np.ndarray, signs: np.ndarray) -> Head:
        n = len(signs)
        require(
            2 * 8 * n**2,  # the matrix and LIBSVM's copy
            current_budget(),
            what=f"an SVM on the {n:,} x {n:,} kernel matrix",
            remedy="Use DeepMapClassifier, whose cost is linear, or raise memory_budget.",
        )
        self.kernel_ = fitted_kernel(self.kernel, views, y, self.random_state)
        known = samples_of(views.match(self.kernel_.layout), labelled)
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
        check_layout(self.layout_, self.kernel_.layout)
        self.kernel_.check_samples(self.support_)

    @property
    def _n_head_features(self) -> int:
        return len(self.support_)

    def _known_sample(self) -> Views:
        return self.support_[:1]

    def _features(self, views: Views) -> np.ndarray:
        return self.kernel_.tensor(views, self.support_).cpu().numpy()
