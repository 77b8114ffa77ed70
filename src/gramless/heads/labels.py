"""From labels to one column of +1 / -1 per label, and back from scores to labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from gramless.errors import DataError

LEAST_SHARE = 1e-9  # of all samples, by weight: a side without any has a weight that nothing is multiplied by


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Which labels samples have, and how many have each; adds up over blocks of samples."""

    classes: np.ndarray
    counts: np.ndarray  # (n_classes,): samples of each class, or with each label
    n_samples: int
    multilabel: bool

    @classmethod
    def of(cls, y: Any) -> LabelCounts:
        if not y.shape[0]:
            columns = y.shape[1] if y.ndim == 2 else 0
            return cls(np.arange(columns) if columns else y, np.zeros(columns, dtype=np.int64), 0, columns > 0)
        check_classification_targets(y)
        kind = type_of_target(y)
        if kind.startswith("multilabel"):
            indicator = y.toarray() if sparse.issparse(y) else np.asarray(y)
            _refuse_other_values(indicator)
            return cls(np.arange(indicator.shape[1]), (indicator > 0).sum(0), len(indicator), True)
        if kind.endswith("multioutput"):
            _refuse_other_values(np.asarray(y))
        classes, counts = np.unique(np.asarray(y), return_counts=True)
        return cls(classes, counts, int(counts.sum()), False)

    def __add__(self, other: LabelCounts) -> LabelCounts:
        if self.multilabel != other.multilabel or (self.multilabel and len(self.classes) != len(other.classes)):
            raise DataError("some samples have classes and others an indicator of labels, or of more labels.")
        classes, places = np.unique(np.concatenate([self.classes, other.classes]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([self.counts, other.counts])).astype(np.int64)
        return LabelCounts(classes, counts, self.n_samples + other.n_samples, self.multilabel)

    @property
    def labels(self) -> Labels:
        if not self.multilabel and len(self.classes) < 2:
            raise DataError(
                f"there is one class only, {self.classes[0]}, among the labels of all samples ({self.n_samples}): a "
                "classifier needs at least two classes. Add the others, or check that the labels are the right ones."
            )
        return Labels(self.classes, self.multilabel)

    @property
    def positives(self) -> np.ndarray:
        """Samples with a positive sign, of every column of signs: (n_labels,)."""
        return self.counts[1:] if not self.multilabel and len(self.classes) == 2 else self.counts


@dataclass(frozen=True, eq=False)
class Labels:
    """What kind of labels a classifier learned: classes (n,), or an indicator matrix (n, n_labels)."""

    classes: np.ndarray
    multilabel: bool

    def __post_init__(self) -> None:
        classes = self.classes
        if classes.ndim != 1 or len(classes) < (1 if self.multilabel else 2):
            raise DataError(f"a classifier knows at least two classes, or one label, got {classes}.")
        if classes.dtype.kind == "O" and not all(isinstance(name, str) for name in classes):
            raise DataError(f"classes must be numbers or texts, got {classes}.")
        if not (classes[:-1] < classes[1:]).all():
            raise DataError(f"classes must stand in order, each once, got {classes}.")
        if self.multilabel and not np.array_equal(classes, np.arange(len(classes))):
            raise DataError(f"labels of an indicator are numbered 0, 1, ..., got {classes}.")

    @property
    def n_columns(self) -> int:
        """Of signs and of margins: one per label, one in all for two classes."""
        return 1 if not self.multilabel and len(self.classes) == 2 else len(self.classes)

    @classmethod
    def of(cls, y: Any) -> tuple[Labels, np.ndarray]:
        """The labels of y, and its signs."""
        labels = LabelCounts.of(y).labels
        return labels, labels.signs(y)

    def signs(self, y: Any) -> np.ndarray:
        """One column per label (one in all for two classes), +1 or -1: (n, n_labels)."""
        if self.multilabel:
            indicator = y.toarray() if sparse.issparse(y) else np.asarray(y)
            if indicator.ndim != 2 or indicator.shape[1] != len(self.classes):
                raise DataError(f"got labels of shape {indicator.shape} for {len(self.classes)} labels per sample.")
            return np.where(indicator > 0, 1.0, -1.0)
        y = np.asarray(y)
        codes = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        unknown = self.classes[codes] != y
        if unknown.any():
            raise DataError(f"the class {y[unknown].tolist()[0]!r} is none of the known ones, {self.classes.tolist()}.")
        if len(self.classes) == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        return np.where(codes[:, None] == np.arange(len(self.classes)), 1.0, -1.0)

    def weights(self, positives: np.ndarray, n_samples: float, class_weight: Any) -> list[tuple[float, float]]:
        """Weights of the negative and of the positive samples of every label, from how many positives it has.

        A class's weight is that of the positives of its label; with two classes the other one's is that of the
        negatives. "balanced" makes both sides of every label weigh half of all samples.
        """
        n_labels = len(positives)
        if class_weight is None:
            return [(1.0, 1.0)] * n_labels
        if isinstance(class_weight, str):
            if class_weight != "balanced":
                raise ValueError(
                    f"class_weight={class_weight!r}: give 'balanced', a dict of classes to weights, or None."
                )
            clipped = np.clip(positives, LEAST_SHARE * n_samples, (1.0 - LEAST_SHARE) * n_samples).tolist()
            return [(n_samples / (2 * (n_samples - p)), n_samples / (2 * p)) for p in clipped]
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


def check_signs(what: str, numbers: np.ndarray, signs: np.ndarray) -> None:
    """Refuse scores or probabilities that are not one for every sign."""
    if numbers.shape != signs.shape:
        raise DataError(f"{what} of shape {numbers.shape} do not belong to signs of shape {signs.shape}.")


def _refuse_other_values(y: np.ndarray) -> None:
    """Of several columns: 1 is a label that a sample has, 0, or -1 all over, one that it lacks; nothing else is."""
    if any(((y == lacks) | (y == 1)).all() for lacks in (0, -1)):
        return
    values = np.unique(y)
    shown = ", ".join(map(str, values[:4].tolist())) + (", ..." if len(values) > 4 else "")
    raise DataError(
        f"y has several columns, of the values {shown}: give one class per sample, (n,), or 1 for every label that a "
        "sample has and 0 for others, (n, n_labels). Of several questions with classes each, fit one classifier per "
        "column (sklearn.multioutput.MultiOutputClassifier)."
    )
