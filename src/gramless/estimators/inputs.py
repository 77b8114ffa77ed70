"""What every estimator does with its input: anything that Views takes, or one array with `views=` column groups."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_memory, column_or_1d, validate_data
from torch import Tensor

from gramless.errors import DataError
from gramless.estimators.below_zero import raised_to_zero
from gramless.estimators.unlabelled import MARK
from gramless.support.config import get_config
from gramless.views import Columns, Views, column_list, is_multiview, refuse_ambiguous, rounded, side_by_side
from gramless.views.arrays import as_block, dense, refuse_masked
from gramless.views.completion import completed

FEW_SAMPLES = 500


def views_to_fit(estimator: BaseEstimator, X: Any) -> Views:
    """Training data as Views, which are checked here and nowhere else in a fit; what is missing is completed."""
    return completed(views_as_given(estimator, X))


def views_as_given(estimator: BaseEstimator, X: Any) -> Views:
    """The same, where some samples do not count and others are still to be completed."""
    views = _as_views(estimator, X, estimator.views, reset=True)
    if is_multiview(X):
        return remember_layout(estimator, views)
    if isinstance(X, Tensor):
        estimator.n_features_in_ = X.shape[1]  # of other arrays scikit-learn has counted them
    estimator.layout_ = views.layout  # views= may leave columns out, or take them twice
    return views


def remember_layout(estimator: BaseEstimator, views: Views) -> Views:
    """Record the widths of the views, which later data must have."""
    estimator.n_features_in_ = views.shape[1]
    estimator.layout_ = views.layout
    return views


def views_to_use(estimator: BaseEstimator, X: Any) -> Views:
    """New data as the views that the estimator was fitted on; what is missing is completed from samples it knows."""
    columns = None if is_multiview(X) else estimator.views or side_by_side(estimator.layout_)
    views = _as_views(estimator, X, columns, reset=False).match(estimator.layout_)
    return raised_to_zero(estimator, completed(views, estimator.known_samples()) if views.incomplete else views)


def in_engines_type(views: Views) -> Views:
    """Training data in float32 where that loses nothing that matters, unless precision="float64" insists.

    Few samples stay as they are: they take no time in any type, and answers do not depend on what else is asked.
    """
    return views if get_config()["precision"] == "float64" or len(views) < FEW_SAMPLES else rounded(views)


def remembered(memory: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are kept in a folder or by joblib's Memory, or in nothing (None)."""
    try:
        return check_memory(memory).cache(function)
    except OSError as error:
        raise DataError(
            f"memory={memory!r} cannot be used as a folder: {error}. Give a folder that can be made and written, "
            "joblib's Memory, or None."
        ) from error


def generator_from(random_state: Any) -> torch.Generator:
    """An explicit generator from scikit-learn's random_state."""
    return torch.Generator().manual_seed(seed_from(random_state))


def seed_from(random_state: Any) -> int:
    """A seed from scikit-learn's random_state."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def like_input(values: Tensor, X: Views) -> Any:
    """NumPy in, NumPy out; tensors in, tensors out."""
    return values.numpy() if X.torch_device is None else values


def as_labels(y: Any) -> Any:
    """A caller's labels as an array: (n,), or (n, n_labels) with more than one column."""
    if isinstance(y, Tensor):
        y = dense(as_block("y", y if y.ndim > 1 else y[:, None] if y.ndim else y))
    if sparse.issparse(y):
        return as_block("y", y)
    refuse_masked("y", y)
    listed = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
    if listed.dtype == object:
        _refuse_unusable(listed.ravel().tolist())
    y = np.asarray(y)
    if y.dtype.names is not None or y.dtype.kind in "cV":
        raise DataError(f"y is of type {y.dtype}: give one class per sample, or an indicator matrix of labels.")
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    return y if y.ndim == 2 and y.shape[1] > 1 else column_or_1d(y, warn=True)


def as_weights(sample_weight: Any, views: Views) -> np.ndarray:
    """A caller's weights of samples, (n,), not negative; 1 each without any."""
    refuse_masked("sample_weight", sample_weight)
    return _check_sample_weight(sample_weight, views, dtype=np.float64, ensure_non_negative=True)


def _refuse_unusable(labels: list[Any]) -> None:
    """Labels that are lists, are missing, or are numbers among texts, of which NumPy would make texts of all.

    The mark of samples without a label may stand among texts.
    """
    if any(isinstance(label, (list, tuple, set, frozenset, np.ndarray)) for label in labels):
        raise DataError(
            "y lists the labels of every sample: give 1 for every label that a sample has and 0 for others, (n, "
            "n_labels), as sklearn.preprocessing.MultiLabelBinarizer makes them of such lists."
        )
    missing = [row for row, label in enumerate(labels) if _is_missing(label)]
    if missing:
        raise DataError(
            f"y contains NaN or None ({labels[missing[0]]!r}), first at place {missing[0]} ({len(missing)} in all): "
            f"leave those samples out, or mark them by {MARK} for learning that is semi-supervised."
        )
    kinds = {type(label) for label in labels if not (isinstance(label, int) and label == MARK)}
    if len(kinds) > 1 and any(issubclass(kind, (str, bytes)) for kind in kinds):
        names = sorted(kind.__name__ for kind in kinds)
        raise DataError(f"y mixes labels of the types {', '.join(names)}: give texts only, or numbers only.")


def _is_missing(label: Any) -> bool:
    """None, NaN, or what pandas has for them."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and isnan(label))


def _as_views(estimator: BaseEstimator, X: Any, columns: Columns | None, *, reset: bool) -> Views:
    if isinstance(X, Views) and not reset:
        return X  # looked at when they were made, and by the engine where their memory has changed since
    if is_multiview(X):
        return Views(X)
    if isinstance(X, Tensor):
        return Views(X, columns)
    structured = getattr(getattr(X, "dtype", None), "names", None) is not None
    if structured or sparse.issparse(X) or isinstance(X, np.ma.MaskedArray):
        X = as_block("X", X)
    if hasattr(X, "columns"):
        refuse_ambiguous(X.columns, X.columns)
    _refuse_times(X)
    try:
        X = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,  # Views look at that, once
            reset=reset,
        )
    except OverflowError as error:
        raise DataError(f"X holds a number that no floating type holds: {error}.") from error
    except ValueError as error:
        _refuse_texts(X, error)
        raise
    return Views(X, positions(columns, getattr(estimator, "feature_names_in_", None)))


def _refuse_texts(X: Any, error: ValueError) -> None:
    """Where an array could not be read for texts in it: of a table, in which column."""
    if "could not convert string" not in str(error):
        return
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        raise DataError(
            f"X holds texts, {error}: give a row of numbers for each sample, as sklearn.feature_extraction.text."
            "TfidfVectorizer makes them of texts."
        ) from error
    names = getattr(X, "columns", range(table.shape[1]))
    for name, column in zip(names, table.T, strict=True):
        for text in {value for value in column.tolist() if isinstance(value, (str, bytes))}:
            try:
                float(text)
            except ValueError:
                raise DataError(
                    f"column {name!r} holds texts, such as {text!r}, and kernels compare numbers: give one column of 0 "
                    "and 1 for each text, for instance by sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
                ) from error


def _refuse_times(X: Any) -> None:
    """NumPy makes nanoseconds or days of them, and a large negative number of a time that is missing."""
    kinds = [("X", getattr(X, "dtype", None))]
    if hasattr(X, "columns"):
        kinds = list(zip(X.columns, getattr(X, "dtypes", ()), strict=False))
    for name, dtype in kinds:
        if getattr(dtype, "kind", "") in tuple("Mm"):
            raise DataError(
                f"{name!r} holds dates or times, {dtype}: make numbers of what matters about them, such as days since "
                "a date, the month, the hour."
            )


def positions(columns: Columns | None, names: np.ndarray | None) -> Columns | None:
    """Column groups by position: a DataFrame's names are gone once scikit-learn has validated it."""
    if columns is None or names is None:
        return columns
    position = {name: i for i, name in enumerate(names)}
    positions = {}
    for view, chosen in columns.items():
        chosen = column_list(chosen)
        if not isinstance(chosen, slice):
            refuse_ambiguous(names, chosen)
            chosen = [position.get(c, c) for c in chosen]
        positions[view] = chosen
    return positions
