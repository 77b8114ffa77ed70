"""What the two classifiers share: labels in, features of their own, margins out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from gramless.blocks import Blocks
from gramless.errors import DataError
from gramless.estimators.block_inputs import answered, blocks_to_learn, blocks_to_use
from gramless.estimators.distinct import MergedCopies, merged_copies
from gramless.estimators.fitted import fitted_in_one_step
from gramless.estimators.fitted_html import HEADS, LEFT_OUT, Fact, Tried, classifier_facts
from gramless.estimators.given_kernel import describe, learning_of
from gramless.estimators.head_settings import heads_to_try, settle
from gramless.estimators.importances import Explained
from gramless.estimators.inputs import as_labels, as_weights, views_as_given, views_to_use
from gramless.estimators.unlabelled import labelled_rows, labels_of
from gramless.heads import (
    Calibration,
    Contest,
    Head,
    Labels,
    SettingsPoint,
    Temperature,
    Threshold,
    TopGains,
    TopK,
    Weights,
)
from gramless.heads.discriminant import Discriminant
from gramless.heads.labelling import Labelling, learn_labelling
from gramless.heads.operating_points import OperatingPoint
from gramless.support.checks import check_array
from gramless.support.threads import threads_for
from gramless.views.completion import completed


class ViewsClassifier(Explained, ClassifierMixin, BaseEstimator):
    """A classifier on Views for classes (n,) or several labels per sample (n, n_labels).

    A subclass learns what turns samples into features, and a head on them.
    """

    labels_: Labels
    classes_: np.ndarray
    head_: Head
    head_kind_: str
    C_: float
    settings_curve_: tuple[SettingsPoint, ...]
    unseen_scores_: np.ndarray | None
    discriminant_: Discriminant | None
    calibration_: Calibration | Temperature
    decision_: TopGains | TopK | Threshold
    operating_points_: tuple[OperatingPoint, ...]

    sometimes = Explained.sometimes | {"operating_points_"}

    @abstractmethod
    def _fit(self, samples: MergedCopies, labelled: np.ndarray, signs: np.ndarray) -> Head:
        """Learn from samples with all their views, and the signs (n_labelled, n_labels) of those that are labelled.

        Whatever `_features` needs is set on self.
        """

    @abstractmethod
    def _fit_blocks(self, blocks: Blocks) -> Head:
        """Learn from labelled samples in blocks; sets labels_ and classes_ too."""

    def check_fitted(self) -> None:
        super().check_fitted()
        if not np.array_equal(self.classes_, self.labels_.classes):
            raise DataError(f"the classes {self.classes_} are not those of the labels, {self.labels_.classes}.")
        known = self.head_kind_ in HEADS and all(point.by in LEFT_OUT for point in self.settings_curve_)
        if not known or not self.C_ > 0:
            raise DataError(f"no classifier has the head {self.head_kind_!r} with C = {self.C_}, or was chosen so.")
        if (self.discriminant_ is not None) != (self.head_kind_ == "discriminant"):
            raise DataError(f"a head {self.head_kind_!r} does not go with the discriminant {self.discriminant_}.")
        shape = (self.labels_.n_columns, self._n_features)
        check_array("the coefficients of a head", self.head_.coefficients, shape)
        if isinstance(self.calibration_, Temperature) == self.labels_.multilabel:
            raise DataError(f"labels {self.classes_} are not calibrated by a {type(self.calibration_).__name__}.")
        n_labels = self.labels_.n_columns
        if self.discriminant_ is not None:
            check_array("the offsets of a discriminant", self.discriminant_.offsets, (n_labels,))
        if isinstance(self.calibration_, Calibration):
            check_array("the shifts of a calibration", self.calibration_.shift, (n_labels,))
        if self.unseen_scores_ is not None:
            check_array("the scores of unseen samples", self.unseen_scores_, (None, n_labels), finite=False)
        if isinstance(self.decision_, TopGains):
            check_array("the slopes of gains", self.decision_.slope, (n_labels,))
        if isinstance(self.decision_, Threshold) and isinstance(self.decision_.thresholds, np.ndarray):
            check_array("thresholds", self.decision_.thresholds, (n_labels,))

    @property
    def _answers(self) -> tuple[Head, np.ndarray]:
        return self.head_, self.classes_[-self.labels_.n_columns :]

    def _head_facts(self) -> tuple[list[Fact], Tried | None]:
        return classifier_facts(self)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from samples and their labels, in memory or in blocks; these may bring their labels along.

        Where the kernel network learns semi-supervised, y = -1 (a row of -1 where samples have several labels) marks a
        sample without a label: the network, its landmarks and its tuning learn from it, the classifiers do not.
        Otherwise -1 is a class.

        sample_weight : (n,), how much every sample counts in the classifiers, in the choice of their settings and in
            probabilities: a weight of 2 is that of two equal samples, of 0 that of none. Samples that are equal, label
            and all, are one of their weights' sum, which is left out as one. The network, landmarks and their tuning
            take all samples that differ alike. Not for data in blocks.

        To cross-validate on several views, give scikit-learn `Views(X)`: of a dict it cannot take rows.
        """
        with fitted_in_one_step(self) as fresh:
            fresh._fit_anything(X, y, sample_weight)
        return self

    def _fit_anything(self, X: Any, y: Any, sample_weight: Any) -> None:
        blocks = blocks_to_learn(self, X, y, sample_weight)
        if blocks is not None:
            self.head_ = self._deciding(self._fit_blocks(blocks))
            return
        views = views_as_given(self, X)
        y = as_labels(y)
        check_consistent_length(views, y)
        if sample_weight is not None:
            sample_weight = as_weights(sample_weight, views)
        samples = merged_copies(views, y, sample_weight)
        labelled = labelled_rows(samples.labels, learning_of(self.kernel))
        self.labels_, signs = Labels.of(labels_of(samples.labels, labelled))
        self.classes_ = self.labels_.classes
        with threads_for(len(samples.views)):
            self.head_ = self._deciding(self._fit(replace(samples, views=completed(samples.views)), labelled, signs))
        self._number_as_given(samples, labelled)

    def _number_as_given(self, samples: MergedCopies, labelled: np.ndarray) -> None:
        """What fit knows of single samples, in the order in which they were given."""
        if self.unseen_scores_ is not None:
            places = samples.places[samples.places >= 0]
            among_labelled = np.cumsum(labelled) - 1
            self.unseen_scores_ = self.unseen_scores_[among_labelled[places[labelled[places]]]]

    def _sides(self, signs: np.ndarray, sample_weight: np.ndarray | None) -> Weights:
        """Of the negatives and positives of every label, by what samples weigh."""
        weights = np.ones(len(signs)) if sample_weight is None else sample_weight
        return self.labels_.weights(weights @ (signs > 0), weights.sum(), self.class_weight)

    def _settle(self, contest: Contest, shaped: Contest | None = None) -> None:
        """Choose what was left open, and learn how scores become answers.

        shaped : of vectors that the labels have shaped, where the head will be fitted to others than it is chosen on
        """
        heads = heads_to_try(self.head, self.C, self.class_weight, contest.signs.shape[1])
        choice = settle(contest, heads, None if self.C == "auto" else float(self.C))
        self.head_kind_, self.C_, self.settings_curve_ = choice.head, choice.C, choice.curve
        self.discriminant_ = choice.discriminant
        of_shaped = None
        if shaped is not None and self.labels_.multilabel:
            of_shaped = settle(shaped, (choice.head,), choice.C).scores
        labelling = learn_labelling(
            choice.scores,
            contest.signs,
            multilabel=self.labels_.multilabel,
            threshold=self.threshold,
            weights=contest.of_samples,
            shaped=of_shaped,
            **self._wishes(),
        )
        self.take_labelling(labelling)

    def _deciding(self, head: Head) -> Head:
        """The head whose margins are those of the answers, from that of every label by itself."""
        return head if self.discriminant_ is None else self.discriminant_.folded_into(head)

    def take_labelling(self, labelling: Labelling) -> None:
        """From here on scores become answers in this way."""
        self.calibration_, self.decision_ = labelling.calibration, labelling.decision
        if labelling.points is not None:
            self.operating_points_ = labelling.points
        unseen = labelling.unseen  # in files NaN cannot be: no score is the lowest
        self.unseen_scores_ = None if unseen is None else np.where(np.isnan(unseen), -np.inf, unseen).astype(np.float32)

    def _wishes(self) -> dict[str, Any]:
        """How many labels a sample is to get, and what for, where the classifier takes such wishes."""
        return {}

    def decision_function(self, X: Any) -> np.ndarray:
        """Margins: (n,) for two classes, otherwise (n, n_labels)."""
        return self._answer("decision_function", X, lambda margins: self.labels_.scores(margins))

    def predict(self, X: Any) -> np.ndarray:
        """Classes, or an indicator of the labels of every sample; of data in blocks when they are asked for."""
        return self._answer("predict", X, self._decide)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities, calibrated on samples that were left out; of data in blocks when they are asked for.

        Of classes (n, n_classes), each row summing to one; of labels (n, n_labels), that a sample has the label.
        """
        return self._answer("predict_proba", X, lambda m: self.calibration_.probabilities(m.astype(np.float64)))

    def _decide(self, margins: np.ndarray) -> np.ndarray:
        """The class with the highest margin, or an indicator of the labels that are decided for."""
        if not self.labels_.multilabel:
            return self.labels_.decide(margins)
        return Labelling(self.calibration_, self.decision_).decide(margins).astype(np.int64)

    def _answer(self, method: str, X: Any, of_margins: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What this method makes of the margins of samples, or is to make of those of blocks."""
        if not hasattr(self, "head_"):  # what scikit-learn looks at would take a tenth of the time of one sample
            check_is_fitted(self)
        blocks = blocks_to_use(self, X)
        if blocks is not None:
            return answered(self, method, blocks)
        return of_margins(self.head_.margins(self._features(views_to_use(self, X))))

    def __sklearn_tags__(self) -> Any:
        tags = describe(super().__sklearn_tags__(), self.kernel)
        tags.classifier_tags.multi_label = True
        return tags
