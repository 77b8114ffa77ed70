"""Samples without a label among others: which they are, and the labels of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramless.errors import DataError
from gramless.learning import Learning, SemiSupervised
from gramless.views import Views

MARK = -1  # scikit-learn's convention


def labelled_rows(y: Any, settings: Learning | None) -> np.ndarray:
    """Mask of the samples that have a label, (n,): all of them unless learning is semi-supervised.

    Then y = -1 marks a sample without one, and a row of -1 where samples have several labels. To other learning -1 is
    a class like others. Strings must come in an array of objects to have such a mark among them.
    """
    if not isinstance(settings, SemiSupervised):
        if y.dtype.kind == "O" and len({isinstance(label, str) for label in y.ravel().tolist()}) > 1:
            raise DataError(
                f"y mixes texts and numbers; {MARK} marks samples without a label if learning is semi-supervised."
            )
        return np.ones(y.shape[0], dtype=bool)
    if y.dtype.kind in "US":
        if (y == np.asarray(str(MARK), dtype=y.dtype)).any():
            raise DataError(
                f"a class is named {str(MARK)!r}: to mark samples without a label among classes that are strings, give "
                f"an array with dtype=object and the number {MARK} in it."
            )
        return np.ones(y.shape[0], dtype=bool)
    marked = y == MARK
    if y.ndim == 2:
        return np.asarray(marked.sum(axis=1)).ravel() < y.shape[1]
    return ~np.asarray(marked, dtype=bool)


def labels_of(y: Any, labelled: np.ndarray) -> Any:
    """The labels of these rows; where marks stood among them, of their own type."""
    if not labelled.any():
        raise DataError(
            f"no sample is labelled: every y is {MARK}, which marks a sample without a label, or the mask leaves none. "
            "Learning the weights of a network, or a classifier, needs labels."
        )
    known = y[np.flatnonzero(labelled)]
    return np.array(known.tolist()) if known.dtype.kind == "O" and not labelled.all() else known


def samples_of(views: Views, labelled: np.ndarray) -> Views:
    """The samples of these rows."""
    return views if labelled.all() else views[np.flatnonzero(labelled)]
