"""What a model loses when a view is shuffled among samples: whether what moves its decisions is for the better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import check_consistent_length, check_random_state

from gramless.errors import DataError
from gramless.estimators.block_inputs import blocks_to_use
from gramless.estimators.classifier import ViewsClassifier
from gramless.estimators.importances import Explained
from gramless.estimators.inputs import as_labels, views_to_use
from gramless.heads.judging import judge
from gramless.support.progress import ProgressBar
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class PermutationImportances:
    """What the score of a model falls by where one view belongs to other samples than the other views.

    Attributes
    ----------
    views : tuple of str
    score : float
        With every view in its place.
    drops : array (n_views, n_repeats)
        Of every view, each time that it was shuffled.
    """

    views: tuple[str, ...]
    score: float
    drops: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """(n_views,)"""
        return self.drops.mean(1)

    @property
    def std(self) -> np.ndarray:
        """The spread over repeats: (n_views,)."""
        return self.drops.std(1)

    def __repr__(self) -> str:
        order = np.argsort(-self.mean, kind="stable")
        drops = (f"{self.views[v]} {self.mean[v]:.3f} +- {self.std[v]:.3f}" for v in order)
        return f"PermutationImportances(score {self.score:.3f}; without {', '.join(drops)})"


def permutation_importances(
    model: Any, X: Any, y: Any, *, scoring: Any = None, n_repeats: int = 5, random_state: Any = None
) -> PermutationImportances:
    """What the score of a fitted model falls by where the rows of a view are shuffled among samples, view by view.

    On samples that the model has not learned from, a view that helps costs the score when it is shuffled, and one that
    does not costs nothing on average; `importances_` are shares in decisions, be they right or wrong. Of two views that
    say the same, each can do without the other.

    model : a fitted classifier or regressor of this package
    X, y : samples and their labels or numbers, in memory
    scoring : as scikit-learn takes it, higher being better. None is the accuracy of classes and R2 of numbers; of
        several labels per sample the mean of the two average precisions, of labels ranked for every sample and of
        samples ranked for every label.
    n_repeats : how often every view is shuffled; n_views n_repeats + 1 predictions for all samples

    Returns `PermutationImportances`: `mean` and `std` over repeats, view by view.
    """
    if not isinstance(model, Explained):
        raise TypeError(
            f"permutation_importances shuffles the views of this package's classifiers and regressors, got a "
            f"{type(model).__name__}. Of a Pipeline give the last step, and X as it gets it."
        )
    if not isinstance(n_repeats, (int, np.integer)) or n_repeats < 1:
        raise ValueError(f"every view is shuffled once or more, got n_repeats={n_repeats!r}.")
    if blocks_to_use(model, X) is not None:
        raise ValueError("data in blocks is not shuffled: give a sample of it, some thousand rows in memory.")
    views = views_to_use(model, X)
    check_consistent_length(views, y)
    if len(views) < 2:
        raise DataError(f"there is nothing to shuffle among {len(views)} samples: give two or more.")
    score = _scorer(model, scoring)
    whole, random = float(score(views, y)), check_random_state(random_state)
    drops = np.empty((len(views.names), n_repeats))
    with ProgressBar("shuffling views", drops.size) as progress:
        for repeat in range(n_repeats):
            moved = views[random.permutation(len(views))]
            for v, name in enumerate(views.names):
                shuffled = Views({each: (moved if each == name else views)[each] for each in views.names})
                drops[v, repeat] = whole - float(score(shuffled, y))
                progress.advance()
    return PermutationImportances(views.names, whole, drops)


def _scorer(model: Explained, scoring: Any) -> Callable[[Views, Any], float]:
    if scoring is None and isinstance(model, ViewsClassifier) and model.labels_.multilabel:
        return lambda views, y: _ranking(model, views, y)
    scorer = check_scoring(model, scoring)
    return lambda views, y: scorer(model, views, y)


def _ranking(model: ViewsClassifier, views: Views, y: Any) -> float:
    """By which settings are chosen as well: whole sets of labels are almost never right."""
    signs = model.labels_.signs(as_labels(y))
    return judge(model.decision_function(views), signs, np.ones(len(views)), multilabel=True).score / 100.0
