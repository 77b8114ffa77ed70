"""Classifiers that learn from blocks of samples that come once, one after the other."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_consistent_length

from gramless.errors import DataError
from gramless.estimators.classifier import ViewsClassifier
from gramless.estimators.distinct import all_of
from gramless.estimators.fitted import fitted_in_one_step
from gramless.estimators.given_kernel import learning_of
from gramless.estimators.inputs import as_labels, views_to_fit, views_to_use
from gramless.estimators.unlabelled import labelled_rows, labels_of, samples_of
from gramless.heads import FitSummary, LabelCounts, LeastSquares, OnlineHead, SquaredHinge
from gramless.heads.choosing import BY_RIDGE
from gramless.heads.online import OnlineLoss
from gramless.support.config import current_budget
from gramless.support.threads import threads_for
from gramless.views import Views


class LearnsInTurn(ViewsClassifier):
    """A classifier by ridge regression or the squared hinge on features that the first samples settle."""

    online_: FitSummary | OnlineHead | None

    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from one more block of samples, for data that comes once; blocks should come in random order.

        The first block, or a `fit` before it, settles everything but the classifiers, and should have some thousands of
        samples. Data that can be read several times is better learned from by `fit`. Samples without a label are marked
        as for `fit`, and after the first block nothing is learned from them.

        classes : all that will come, with the first block; without it, and with several labels per sample, they are the
            first block's
        """
        with fitted_in_one_step(self, going_on=True) as fresh:
            fresh._fit_next(X, as_labels(y), classes)
        return self

    def _fit_next(self, X: Any, y: Any, classes: Any) -> None:
        if not self._learns_in_turn():
            raise ValueError(
                f"class_weight={self.class_weight!r}: partial_fit cannot balance classes of which more are to come. "
                "Give weights by class, or None."
            )
        labelled = labelled_rows(y, learning_of(self.kernel))
        first = not hasattr(self, "head_")
        views = views_to_fit(self, X) if first else views_to_use(self, X)
        check_consistent_length(views, y)
        if not first and not self._knows(classes):
            raise DataError(
                f"got classes={classes}, but {self.classes_.tolist()} with the first block. Give the same, or none."
            )
        with threads_for(len(views)):
            online = self._first_block(views, y, labelled, classes) if first else self._remembered()
            if labelled.any():
                signs = self.labels_.signs(labels_of(y, labelled))
                online = online.update(self._features(samples_of(views, labelled)), signs)
        self.online_ = online
        self.head_ = self._deciding(online.head)

    def _knows(self, classes: Any) -> bool:
        return classes is None or self.labels_.multilabel or np.array_equal(np.unique(classes), self.classes_)

    def _learns_in_turn(self) -> bool:
        """Whether blocks can be learned from one after the other."""
        return not isinstance(self.class_weight, str)

    def _first_block(self, views: Views, y: Any, labelled: np.ndarray, classes: Any) -> OnlineHead:
        known = labels_of(y, labelled)
        self.labels_ = LabelCounts.of(known if classes is None or y.ndim == 2 else np.asarray(classes)).labels
        self.classes_ = self.labels_.classes
        self.head_ = self._fit(all_of(views, y), labelled, self.labels_.signs(known))
        return self._nothing_remembered()

    def _remembered(self) -> OnlineHead:
        """Of the blocks so far, or of what was fitted."""
        if isinstance(self.online_, FitSummary):
            return self._nothing_remembered().after_fit(self.online_)
        if self.online_ is None:
            raise ValueError(
                "partial_fit goes on from classifiers without balanced classes, and this one was fitted with them. Fit "
                "anew."
            )
        return self.online_

    def _nothing_remembered(self) -> OnlineHead:
        n_labels, n_features = self.head_.coefficients.shape
        weights = self.labels_.weights(np.ones(n_labels), 2, self.class_weight)  # which no number of samples enters
        loss = self._online_loss()
        return OnlineHead.start(n_labels, n_features, self.C_, weights, budget=current_budget(), loss=loss)

    def _online_loss(self) -> OnlineLoss:
        return LeastSquares() if self.head_kind_ in BY_RIDGE else SquaredHinge()
