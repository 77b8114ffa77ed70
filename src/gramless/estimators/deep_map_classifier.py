"""DeepMapClassifier: the whole path, DKN to DMN to linear SVMs, in one estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gramless.estimators.classifier import ViewsClassifier
from gramless.estimators.deep_kernel_classifier import network_parameters
from gramless.estimators.deep_kernel_network import DEFAULT_KERNELS, DeepKernelNetwork
from gramless.estimators.deep_map_network import DeepMapNetwork
from gramless.heads import Head, Loss, fit_linear_svms
from gramless.views import Views


class DeepMapClassifier(ViewsClassifier):
    """A deep kernel network, compiled into an explicit map, and one LIBLINEAR machine per label on its vectors.

    Linear in the number of samples, in time and in memory.

    Parameters
    ----------
    kernels, hidden, activation, output_activation, weights, learning, hidden_gain, output_gain, normalize
        The network, as in DeepKernelNetwork.
    n_landmarks, landmarks, n_components
        The map, as in DeepMapNetwork.
    C : float
        Penalty of the SVM.
    loss : "squared_hinge" or "hinge"
    class_weight : dict of classes to weights, "balanced", or None
        Weights of each class's samples; "balanced" gives the positives of a label as much weight as its negatives.
    max_iter : int
        Of LIBLINEAR, per label.
    views, device, memory_budget, random_state
        As in DeepKernelNetwork.

    Attributes
    ----------
    map_network_ : DeepMapNetwork
        The fitted map; its `kernel_` is the network.
    classes_ : array
        The classes, or the numbers of the labels.
    n_iter_ : int
        Iterations of LIBLINEAR, the largest over labels.
    """

    def __init__(
        self,
        kernels: Any = DEFAULT_KERNELS,
        hidden: Sequence[int] = (80,),
        *,
        activation: Any = "tanh",
        output_activation: Any = "exp",
        weights: Any = "random",
        learning: Any = "supervised",
        hidden_gain: float | tuple[float, float] = (0.1, 2.0),
        output_gain: float = 6.0,
        normalize: bool = True,
        n_landmarks: int = 500,
        landmarks: Any = "uniform",
        n_components: int | None = None,
        C: float = 1.0,
        loss: Loss = "squared_hinge",
        class_weight: Any = None,
        max_iter: int = 10_000,
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
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_components = n_components
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.views = views
        self.device = device
        self.memory_budget = memory_budget
        self.random_state = random_state

    def _fit(self, views: Views, y: Any, signs: np.ndarray) -> Head:
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=3).tolist()
        network = DeepKernelNetwork(**(network_parameters(self) | {"random_state": seeds[0]}))
        self.map_network_ = DeepMapNetwork(
            network.fit(views, y).kernel_,
            self.n_landmarks,
            landmarks=self.landmarks,
            n_components=self.n_components,
            device=self.device,
            memory_budget=self.memory_budget,
            random_state=seeds[1],
        ).fit(views)
        phi = self._features(views)
        weights = self.labels_.weights(signs, self.class_weight)
        head = fit_linear_svms(phi, signs, self.C, self.loss, weights, self.max_iter, seeds[2])
        self.n_iter_ = head.n_iter
        return head

    def _features(self, views: Views) -> np.ndarray:
        return self.map_network_.map_.transform(views).cpu().numpy()
