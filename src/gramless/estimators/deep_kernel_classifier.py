"""DeepKernelClassifier: a deep kernel network with classifiers on the Gram matrix; the paper's reference, DKN + SVM."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from gramless.estimators.classifier import ViewsClassifier
from gramless.estimators.distinct import MergedCopies
from gramless.estimators.features import OnSupport
from gramless.estimators.given_kernel import KERNEL, built_kernel
from gramless.estimators.inputs import in_engines_type, remembered, seed_from
from gramless.estimators.kernel_heads import OnKernel
from gramless.estimators.parameters import HEAD_CONSTRAINTS, PENALTY
from gramless.estimators.unlabelled import samples_of
from gramless.heads import Head
from gramless.support.checks import INPUT, Constraints, HasMethods, Options, StrOptions
from gramless.support.config import get_config
from gramless.views import Views

MATRICES = 4  # n x n in float64 at once: the kernel, centred, its eigenvectors, and what these are made from


class DeepKernelClassifier(OnSupport, ViewsClassifier):
    """A deep kernel network and one classifier per label on its Gram matrix.

    Exact, and quadratic in the number of samples: the reference that DeepMapClassifier approximates at linear cost.

    Parameters
    ----------
    kernel : DeepKernelNetwork, DeepKernel, FrozenEstimator or None
        A network, which is cloned and fitted here; a kernel, or a frozen network, that is used as it is; None is a
        DeepKernelNetwork as it comes. To search over a network's parameters (`kernel__hidden`), give one.
    C : "auto" or float
        Penalty of the errors; the network is scaled so that it means the same for all networks. "auto" is the best of
        a path by samples that were left out.
    head : "auto", "ridge", "discriminant", "squared_hinge", "hinge"
        The classifiers: ridge regression of signs, 1 / (2 C) its ridge; the same, and discriminant analysis of the
        scores of all classes; or SVMs, of which "hinge" is LIBSVM's, as in the paper. "auto" is ridge regression,
        unless one of the others is ahead of it on left-out samples by more than noise.
    threshold : "f1" or "sign"
        With several labels per sample: labels above the thresholds with the highest expected F1, that of all answers
        and of labels alike, by probabilities of left-out samples; or labels with a positive score.
    class_weight : dict of classes to weights, "balanced", or None
        Weights of each class's samples; "balanced" gives the positives of a label as much weight as its negatives.
    memory : joblib.Memory, path or None
        Where the learned network is kept, as scikit-learn's Pipeline keeps transformers: a search over C, head or
        threshold learns it once for every part of the data. Needs a random_state that is a number.
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
    C_, head_kind_ : float, str
        As given or chosen.
    settings_curve_ : tuple of SettingsPoint
        What left-out samples said of every head and C that was tried; empty where both were given.
    discriminant_ : Discriminant or None
        Of head_kind_ "discriminant": what makes log posteriors of the scores of all classes; `head_` includes it.
    calibration_ : Temperature or Calibration
        From scores to the probabilities of classes or labels, learned on left-out samples.
    decision_ : Threshold
    importances_ : Importances
        Shares of views and kernels in the decisions of each label, computed when they are first asked for.
    """

    linear: ClassVar[str] = "DeepMapClassifier"

    _parameter_constraints: ClassVar[Constraints] = (
        KERNEL
        | HEAD_CONSTRAINTS
        | INPUT
        | {
            "C": [PENALTY, Options(Real, {math.inf}), StrOptions({"auto"})],  # inf leaves no sample on the wrong side
            "memory": [str, os.PathLike, HasMethods(["cache"]), None],
            "head": [StrOptions({"auto", "ridge", "discriminant", "squared_hinge", "hinge"})],
        }
    )

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float | str = "auto",
        head: str = "auto",
        threshold: str = "f1",
        class_weight: Any = None,
        memory: Any = None,
        views: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.head = head
        self.threshold = threshold
        self.class_weight = class_weight
        self.memory = memory
        self.views = views
        self.random_state = random_state

    def _fit(self, samples: MergedCopies, labelled: np.ndarray, signs: np.ndarray) -> Head:
        views, n, sample_weight = in_engines_type(samples.views), len(signs), samples.weights_of(labelled)
        self._require_matrices(MATRICES, n, "a classifier")
        build = remembered(self.memory, built_kernel)
        self.kernel_ = build(self.kernel, views, samples.labels, self.random_state, get_config())
        known = samples_of(views.match(self.kernel_.layout), labelled)
        gram = self.kernel_.tensor(known, known).double().cpu().numpy()
        sides = self._sides(signs, sample_weight)
        on_kernel = OnKernel.of(gram, signs, sides, sample_weight)
        seed = seed_from(self.random_state)
        self._settle(on_kernel.contest(self.labels_.multilabel, seed))
        head = on_kernel.head(self.head_kind_, self.C_)
        used = np.flatnonzero(head.coefficients.any(axis=0))
        used = used if len(used) else np.array([0])
        self.support_ = known[used].dense(views.dtype)
        return replace(head, coefficients=head.coefficients[:, used])

    def _features(self, views: Views) -> np.ndarray:
        return self.kernel_.tensor(views, self.support_, self.support_.dtype).cpu().numpy()
