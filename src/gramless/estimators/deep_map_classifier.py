"""DeepMapClassifier: the whole path, DKN to DMN to linear SVMs, in one estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from gramless.blocks import Block, Blocks
from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device, on_device
from gramless.errors import DataError
from gramless.estimators.automatic_tuning import built_map, unfitted_map
from gramless.estimators.block_heads import BlockFit
from gramless.estimators.deep_map_network import DeepMapNetwork, landmark_rows
from gramless.estimators.distinct import MergedCopies, all_of
from gramless.estimators.features import OnMap
from gramless.estimators.first_look import check_domains, first_look
from gramless.estimators.fitted_html import Fact, landmark_facts
from gramless.estimators.given_kernel import KERNEL, learning_of
from gramless.estimators.in_turn import LearnsInTurn
from gramless.estimators.inputs import in_engines_type, remembered, seed_from, views_to_fit, views_to_use
from gramless.estimators.kept_vectors import fit_on_kept_vectors
from gramless.estimators.parameters import HEAD_CONSTRAINTS, MAP_CONSTRAINTS
from gramless.estimators.unlabelled import labelled_rows, labels_of, samples_of
from gramless.estimators.vector_heads import VectorFit
from gramless.heads import FitSummary, Head
from gramless.maps.tuning import TUNERS
from gramless.support.checks import INPUT, POSITIVE, Constraints, HasMethods, StrOptions, check_array, whole
from gramless.support.config import current_budget, get_config
from gramless.views import Views, is_multiview


class DeepMapClassifier(OnMap, LearnsInTurn):
    """A deep kernel network, compiled into an explicit map, and one linear classifier per label on its vectors.

    Linear in the number of samples, in time and in memory.

    Parameters
    ----------
    kernel : DeepKernelNetwork, DeepKernel, FrozenEstimator or None
        A network, which is cloned and fitted here; a kernel, or a frozen network, that is used as it is; None is a
        DeepKernelNetwork as it comes. To search over a network's parameters (`kernel__hidden`), give one.
    n_landmarks, landmarks, n_components
        The map, as in DeepMapNetwork; of a wish such as n_landmarks="1%", `map_network_` has the curve.
    tuning : "auto", None, "landmarks", "algorithm1"
        How the map is fine-tuned on the training samples, as in DeepMapNetwork. "auto" moves the landmarks, and then
        landmarks and weights a few steps with the labels, as far as held-out samples say that it helps; with fewer than
        50 samples besides the landmarks, or kernels that have no gradient, the map stays as it is compiled.
    C : "auto" or float
        Penalty of the errors. "auto" is the best of a path by samples that were left out.
    head : "auto", "ridge", "discriminant", "squared_hinge"
        The classifiers on the vectors: ridge regression of signs, 1 / (2 C) its ridge; the same, and discriminant
        analysis of the scores of all classes; or SVMs. "auto" is ridge regression, unless one of the others is ahead of
        it on left-out samples by more than noise: discriminants where a class lies between others. In the kernel every
        training sample has a private share of the spectrum that the vectors lack; a plain hinge suffers from it, and a
        number on the diagonal of the dual makes up for it, as the squared hinge has.
    top_k : int or None
        With several labels per sample: predict k labels of every sample, those that most raise recall and precision on
        average over labels. None predicts every label above its threshold.
    recall_weight : "auto", float or None
        With top_k: how much recall counts beside precision; more recall and more labels found, for less precision.
        "auto" takes the weight with the highest F1 on out-of-fold scores, None predicts the k labels with the best
        scores as they come out of the SVMs.
    threshold : "f1" or "sign"
        Without top_k: labels above the thresholds with the highest expected F1, that of all answers and of labels
        alike, by probabilities of left-out samples; or labels with a positive score.
    class_weight : dict of classes to weights, "balanced", or None
        Weights of each class's samples; "balanced" gives the positives of a label as much weight as its negatives.
    scratch : path or None
        With data in blocks: a folder, on a cluster one that all workers see. In a folder of their own within it,
        vectors of the training samples are kept while the classifiers are fitted; after a stop the same fit continues
        there. None computes the vectors anew in each of a handful of passes.
    memory : joblib.Memory, path or None
        Where the learned network and its map are kept, as scikit-learn's Pipeline keeps transformers: a search over C,
        head or thresholds learns them once for every part of the data. Needs a random_state that is a number.
    views, random_state
        As in DeepKernelNetwork; a network without a random_state of its own is seeded from this one.

    Attributes
    ----------
    map_network_ : DeepMapNetwork
        The fitted map; its `kernel_` is the network.
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
    decision_ : TopGains, TopK or Threshold
    operating_points_ : tuple of OperatingPoint
        With recall_weight="auto": recall and precision by weight, of samples that were not learned from.
    unseen_scores_ : array (n, n_labels) or None
        With top_k and recall_weight: scores of the training samples by classifiers that had not seen them.
    finishing_curve_ : tuple of (step, score), or None
        How held-out samples were ranked, by the number of steps in which landmarks and weights were moved with labels.
    n_iter_ : int
        Iterations of the solver, the largest over labels; on data in blocks, passes over it.
    online_ : FitSummary, OnlineHead or None
        What partial_fit goes on from: what is remembered of a fit, or of the blocks so far.
    importances_ : Importances
        Shares of views and kernels in the decisions of each label, computed when they are first asked for.
        After Algorithm 1 there are none.
    """

    finishing_curve_: tuple[tuple[int, float], ...] | None
    n_iter_: int

    _parameter_constraints: ClassVar[Constraints] = (
        KERNEL
        | MAP_CONSTRAINTS
        | HEAD_CONSTRAINTS
        | INPUT
        | {
            "tuning": [StrOptions({"auto", *TUNERS}), None],
            "head": [StrOptions({"auto", "ridge", "discriminant", "squared_hinge"})],
            "top_k": [whole(1), None],
            "recall_weight": [POSITIVE, StrOptions({"auto"}), None],
            "scratch": [str, os.PathLike, None],
            "memory": [str, os.PathLike, HasMethods(["cache"]), None],
        }
    )

    def __init__(
        self,
        kernel: Any = None,
        n_landmarks: int | str = "auto",
        *,
        landmarks: Any = "uniform",
        n_components: int | None = None,
        tuning: str | None = "auto",
        C: float | str = "auto",
        head: str = "auto",
        top_k: int | None = None,
        recall_weight: float | str | None = "auto",
        threshold: str = "f1",
        class_weight: Any = None,
        scratch: str | Path | None = None,
        memory: Any = None,
        views: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_components = n_components
        self.tuning = tuning
        self.C = C
        self.head = head
        self.top_k = top_k
        self.recall_weight = recall_weight
        self.threshold = threshold
        self.class_weight = class_weight
        self.scratch = scratch
        self.memory = memory
        self.views = views
        self.random_state = random_state

    def _fit(self, samples: MergedCopies, labelled: np.ndarray, signs: np.ndarray) -> Head:
        views, sample_weight = in_engines_type(samples.views), samples.weights_of(labelled)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=3).tolist()
        network = unfitted_map(self, self._landmarks_among(samples.places))
        build = remembered(self.memory, built_map)
        built = build(network, views, samples.labels, labelled, signs, seeds[:2], self.tuning == "auto", get_config())
        self.map_network_, tuned = built
        self.finishing_curve_ = tuned.curve
        known = samples_of(views, labelled)
        phi = self._features(known)
        sides = self._sides(signs, sample_weight)
        fit = VectorFit(signs, sides, sample_weight, seeds[2])
        contest, shaped = fit.contest(phi, self.labels_.multilabel), None
        if tuned.unshaped is not None:  # on vectors that labels have shaped, no fold would be unseen
            unshaped = tuned.unshaped.transform(known).cpu().numpy()
            contest, shaped = fit.contest(unshaped, self.labels_.multilabel), contest
        self._settle(contest, shaped)
        head = fit.head(phi, self.head_kind_, self.C_)
        self.n_iter_ = head.n_iter
        self.online_ = None
        if self._learns_in_turn():
            of_labels = self.C_ * np.array(sides)
            self.online_ = FitSummary.of(phi, signs, head, of_labels, self._online_loss(), sample_weight)
        return head

    def _fit_blocks(self, blocks: Blocks) -> Head:
        """Everything on a sample, and then the classifiers on all samples, from those of the sample on."""
        learning = learning_of(self.kernel)
        n_looked_at = unfitted_map(self, self.landmarks).sample_size()
        look = first_look(blocks, n_looked_at, seed_from(self.random_state), learning)
        assert look.labels is not None
        assert look.sample.labels is not None
        self.labels_ = look.labels.labels
        self.classes_ = self.labels_.classes
        views, y = views_to_fit(self, look.sample.views), look.sample.labels
        labelled = labelled_rows(y, learning)
        start = self._fit(all_of(views, y), labelled, self.labels_.signs(labels_of(y, labelled)))
        check_domains(self.map_network_.kernel_, look)
        weights = self.labels_.weights(look.labels.positives, look.labels.n_samples, self.class_weight)
        sides, budget = self.C_ * np.array(weights), current_budget()
        fit = BlockFit(self._online_loss(), self.labels_, learning, look.labels, sides, budget)
        if self.scratch is None:
            head = fit(blocks, partial(_vectors, self.map_network_), start)
        else:
            head = fit_on_kept_vectors(fit, blocks, self.map_network_.transform(blocks), start, Path(self.scratch))
        self.n_iter_ = head.n_iter
        if isinstance(self.online_, FitSummary):
            positives = look.labels.positives
            self.online_ = self.online_.of_all(np.column_stack([look.labels.n_samples - positives, positives]), head)
        return head

    def _landmarks_among(self, places: np.ndarray) -> Any:
        """Landmarks by their rows are rows of what was given."""
        if isinstance(self.landmarks, str) or is_multiview(self.landmarks):
            return self.landmarks
        rows = landmark_rows(self.landmarks, len(places))
        if (places[rows] < 0).any():
            raise DataError(
                f"landmark {rows[places[rows] < 0][0]} is a sample of weight 0, which is left out: choose others."
            )
        return places[rows]

    def _number_as_given(self, samples: MergedCopies, labelled: np.ndarray) -> None:
        super()._number_as_given(samples, labelled)
        if self.map_network_.landmark_indices_ is not None:
            self.map_network_.landmark_indices_ = samples.rows[self.map_network_.landmark_indices_]

    def check_fitted(self) -> None:
        super().check_fitted()
        if self.online_ is not None:
            shape = (self.labels_.n_columns, self._n_features + 1)
            check_array("what partial_fit goes on from", self.online_.w, shape)

    def _wishes(self) -> dict[str, Any]:
        return {"top_k": self.top_k, "recall_weight": self.recall_weight}

    def _network_facts(self) -> tuple[DeepKernel, list[Fact]]:
        return self.map_network_.kernel_, landmark_facts(self.map_network_, self.finishing_curve_)

    def _features(self, views: Views) -> np.ndarray:
        return self.map_network_.map_.transform(views).cpu().numpy()


def _vectors(network: DeepMapNetwork, block: Block) -> Any:
    """Where they are computed, so that sums over them are taken there too."""
    views = views_to_use(network, block.views)
    return network.transform(on_device(views, views.dtype, choose_device(views)))
