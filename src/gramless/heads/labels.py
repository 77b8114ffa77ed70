"""From labels to one column of +1 / -1 per label, and back from scores to labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from gramless.errors import DataError


@dataclass(frozen=True, eq=False)
class Labels:
    """What kind of labels a classifier learned: classes (n,), or an indicator matrix (n, n_labels)."""

    classes: np.ndarray
    multilabel: bool

    @classmethod
    def of(cls, y: Any) -> tuple[Labels, np.ndarray]:
        """The labels of y, and its signs: one column per label (one in all for two classes), +1 or -1."""
        check_classification_targets(y)
        if type_of_target(y).startswith("multilabel"):
            indicator = y.toarray() if sparse.issparse(y) else np.asarray(y)
            return cls(np.arange(indicator.shape[1]), True), np.where(indicator > 0, 1.0, -1.0)
        y = np.asarray(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                f"all {len(y)} samples are of one class, {classes[0]}: a classifier needs samples of at least two "
                "classes. Add the others, or check that the labels are the right ones."
            )
        if len(classes) == 2:
            return cls(classes, False), np.where(codes == 1, 1.0, -1.0)[:, None]
        return cls(classes, False), np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)

    def weights(self, signs: np.ndarray, class_weight: Any) -> list[tuple[float, float]]:
        """Weights of the negative and of the positive samples of every column of signs.

        A class's weight is that of the positives of its label; with two classes the other one's is that of the
        negatives. "balanced" makes both sides of every label weigh half of all samples.
        """
        n_labels = signs.shape[1]
        if class_weight is None:
            return [(1.0, 1.0)] * n_labels
        if isinstance(class_weight, str):
            if class_weight != "balanced":
                raise ValueError(
                    f"class_weight={class_weight!r}: give 'balanced', a dict of classes to weights, or None."
                )
            positive = np.clip((signs > 0).sum(0), 1, len(signs) - 1)
            return [(len(signs) / (2 * (len(signs) - p)), len(signs) / (2 * p)) for p in positive.tolist()]
        unknown = [key for key in class_weight if key not in self.classes]
        if unknown:
            raise ValueError(f"class_weight names {unknown}, but the classes are {self.classes.tolist()}.")
        by_class = [float(class_weight.get(c, 1.0)) for c in self.classes.tolist()]
        if n_labels == 1:
            return [(by_class[0], by_class[1])]
        return [(1.0, weight) for weight in by_class]

    def scores(self, margins: np.ndarray) -> np.ndarray:
        """decision_function's shape: (n,) for two classes, (n, n_labels) otherwise."""
        return margins[:, 0] if not self.multilabel and len(self.classes) == 2 else margins

    def decide(self, margins: np.ndarray) -> np.ndarray:
        """The class with the highest margin, or every label with a positive one."""
        if self.multilabel:
            return (margins > 0).astype(np.int64)
        if len(self.classes) == 2:
            return self.classes[(margins[:, 0] > 0).astype(int)]
        return self.classes[margins.argmax(1)]
