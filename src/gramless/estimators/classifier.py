"""What the two classifiers share: labels in, features of their own, margins out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from gramless.blocks import Blocks
from gramless.errors import DataError
from gramless.estimators.block_inputs import answered, blocks_to_fit, blocks_to_use
from gramless.estimators.fitted import FittedOnViews
from gramless.estimators.given_kernel import describe, learning_of
from gramless.estimators.in_one_step import fitted_in_one_step
from gramless.estimators.inputs import as_labels, views_to_fit, views_to_use
from gramless.estimators.unlabelled import labelled_rows, labels_of
from gramless.heads import Head, Labels
from gramless.support.checks import check_array
from gramless.views import Views


class ViewsClassifier(FittedOnViews, ClassifierMixin, BaseEstimator):
    """A classifier on Views for classes (n,) or several labels per sample (n, n_labels).

    A subclass learns what turns samples into features, and a head on them.
    """

    labels_: Labels
    classes_: np.ndarray
    head_: Head

    @abstractmethod
    def _fit(self, views: Views, y: Any, labelled: np.ndarray, signs: np.ndarray) -> Head:
        """Learn from samples, and the signs (n_labelled, n_labels) of those that are labelled.

        Whatever `_features` needs is set on self.
        """

    @abstractmethod
    def _features(self, views: Views) -> np.ndarray:
        """What the head takes: (n, n_features)."""

    @abstractmethod
    def _fit_blocks(self, blocks: Blocks) -> Head:
        """Learn from labelled samples in blocks; sets labels_ and classes_ too."""

    def check_fitted(self) -> None:
        super().check_fitted()
        if not np.array_equal(self.classes_, self.labels_.classes):
            raise DataError(f"the classes {self.classes_} are not those of the labels, {self.labels_.classes}.")
        shape = (self.labels_.n_columns, self._n_head_features)
        check_array("the coefficients of a head", self.head_.coefficients, shape)

    @property
    @abstractmethod
    def _n_head_features(self) -> int:
        """How many features `_features` gives."""

    @abstractmethod
    def _known_sample(self) -> Views:
        """A sample that was learned from."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from samples and their labels, in memory or in blocks; these may bring their labels along.

        Where the kernel network learns semi-supervised, y = -1 (a row of -1 where samples have several labels) marks a
        sample without a label: the network, its landmarks and its tuning learn from it, the classifiers do not.
        Otherwise -1 is a class.
        """
        with fitted_in_one_step(self) as fresh:
            fresh._fit_anything(X, y)
        return self

    def _fit_anything(self, X: Any, y: Any) -> None:
        blocks = blocks_to_fit(self, X, y)
        if y is None and not (blocks and blocks.has_labels):
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if blocks is not None:
            self.head_ = self._fit_blocks(blocks)
            return
        views = views_to_fit(self, X)
        y = as_labels(y)
        check_consistent_length(views, y)
        labelled = labelled_rows(y, learning_of(self.kernel))
        self.labels_, signs = Labels.of(labels_of(y, labelled))
        self.classes_ = self.labels_.classes
        self.head_ = self._fit(views, y, labelled, signs)

    def decision_function(self, X: Any) -> np.ndarray:
        """Margins: (n,) for two classes, otherwise (n, n_labels)."""
        check_is_fitted(self)
        blocks = blocks_to_use(self, X)
        if blocks is not None:
            return answered(self, "decision_function", blocks, self._known_sample())
        return self.labels_.scores(self._margins(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes, or an indicator of the labels of every sample; of data in blocks when they are asked for."""
        check_is_fitted(self)
        blocks = blocks_to_use(self, X)
        if blocks is not None:
            return answered(self, "predict", blocks, self._known_sample())
        return self._decide(self._margins(X))

    def _decide(self, margins: np.ndarray) -> np.ndarray:
        """The class with the highest margin, or an indicator of every label with a positive one."""
        return self.labels_.decide(margins)

    def _margins(self, X: Any) -> np.ndarray:
        return self.head_.margins(self._features(views_to_use(self, X)))

    def __sklearn_tags__(self) -> Any:
        tags = describe(super().__sklearn_tags__(), self.kernel)
        tags.classifier_tags.multi_label = True
        return tags
