"""Scores and indicators as arrays, or an error that says what is given instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramless.errors import DataError


def as_scores(scores: Any, ndim: int = 2) -> np.ndarray:
    """Scores as a finite float64 array; the same memory where they already are one."""
    array = _as_numbers(scores, "scores", ndim).astype(np.float64, copy=False)
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(np.argwhere(bad)[0].tolist())
        raise DataError(
            f"{int(bad.sum())} of {array.size} scores are NaN or infinite, the first at {where}: they have no place in "
            "a ranking. Look at what computed them, or replace them by a finite score."
        )
    return array


def as_indicator(values: Any, name: str, ndim: int = 2) -> np.ndarray:
    """An indicator as bool; the same memory where it already is."""
    array = _as_numbers(values, name, ndim)
    if array.dtype == bool:
        return array
    neither = (array != 0) & (array != 1)
    if neither.any():
        raise DataError(
            f"{name} holds {array[neither][0].item()!r}: an indicator is 1 or True where the sample has the label and "
            f"0 or False elsewhere. Of signs or scores make one with {name} > 0, or take the best with top_k."
        )
    return array == 1


def as_indicators(predicted: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and truth as bool (n, c), of one shape."""
    predicted, truth = as_indicator(predicted, "predicted"), as_indicator(truth, "truth")
    check_same_shape(predicted, truth, "predicted")
    return predicted, truth


def labels_present(truth: np.ndarray) -> np.ndarray:
    """Which labels at least one sample has, (c,) bool; at least one of them."""
    present = np.logical_or.reduce(truth, axis=0)  # (c,)
    if not present.any():
        raise DataError(
            f"truth, {truth.shape}, has no positive: a mean over the labels that occur is over nothing. Check that "
            "these are the labels of these samples."
        )
    return present


def check_same_shape(other: np.ndarray, truth: np.ndarray, name: str, truth_name: str = "truth") -> None:
    if other.shape != truth.shape:
        raise DataError(
            f"{name} is {other.shape} and {truth_name} {truth.shape}: they are compared entry by entry. Give both the "
            "same samples and the same labels, in the same order."
        )


def _as_numbers(values: Any, name: str, ndim: int) -> np.ndarray:
    wanted = "one row per sample and one column per label" if ndim == 2 else "one number per label of one sample"
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DataError(
            f"{name}, a {type(values).__name__}, is no array of numbers ({error}). Give {wanted}; a sparse matrix as "
            ".toarray()."
        ) from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} is of type {array.dtype}, which cannot be compared. Give {wanted}, in numbers.")
    if array.ndim != ndim:
        raise DataError(f"{name} has the shape {array.shape}: {ndim} dimensions are needed. Give {wanted}.")
    if array.size == 0:
        raise DataError(f"{name} has the shape {array.shape}: nothing can be measured on it. Give {wanted}.")
    return array
