"""Classifiers of labels of which not every sample's is known."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from gramless.errors import DataError
from gramless.heads.batched import fit_all_labels
from gramless.heads.losses import SquaredHinge
from gramless.heads.ridge import RANK
from gramless.heads.svm import Head


def fit_known_ridges(phi: np.ndarray, signs: np.ndarray, C: float) -> Head:
    """One ridge regression, as in heads/ridge.py, per column of signs: +1, -1, or 0 where nobody knows.

    Labels that are known of the same samples share one system of equations. Its matrix is that of all samples less
    those of which nobody knows, or the other way round, whichever are fewer: d^3 / 3 operations per system, and d^2 for
    each of these few samples. A label without a known positive or without a known negative gets its constant answer, -1
    where nothing is known at all.
    """
    _check(phi, signs)
    exact = phi.astype(np.float64)
    origin = exact.mean(0) if len(exact) else np.zeros(phi.shape[1])
    exact -= origin  # what all vectors share would drown the rest in rounding
    whole = exact.T @ exact
    coefficients, intercepts = np.zeros((signs.shape[1], phi.shape[1])), np.full(signs.shape[1], -1.0)
    patterns, group = np.unique(signs != 0, axis=1, return_inverse=True)
    for number, known in enumerate(patterns.T):
        labels = np.flatnonzero(group.ravel() == number)
        if not known.any():
            continue
        some, left_out = exact[known], exact[~known]
        square = some.T @ some if len(some) < len(left_out) else whole - left_out.T @ left_out
        mean, y = some.mean(0), signs[known][:, labels]
        square -= len(some) * np.outer(mean, mean)
        ridge = max(0.5 / C, RANK * float(np.trace(square)), float(np.finfo(np.float64).tiny))
        square[np.diag_indices_from(square)] += ridge
        v = linalg.solve(square, some.T @ (y - y.mean(0)), assume_a="sym", check_finite=False)
        coefficients[labels], intercepts[labels] = v.T, y.mean(0) - (mean + origin) @ v
    return Head(coefficients.astype(phi.dtype), intercepts.astype(phi.dtype), 1)


def fit_known_hinges(phi: np.ndarray, signs: np.ndarray, C: float, *, budget: int) -> Head:
    """One linear SVM with the squared hinge per column of signs, as in heads/batched.py."""
    _check(phi, signs)
    return fit_all_labels(phi, signs, SquaredHinge(), C, [(1.0, 1.0)] * signs.shape[1], budget=budget)


def _check(phi: np.ndarray, signs: np.ndarray) -> None:
    if phi.ndim != 2 or len(phi) != len(signs):
        raise DataError(f"{len(signs)} samples have signs, but the vectors have shape {phi.shape}.")
    if not np.isin(signs, (-1, 0, 1)).all():
        raise DataError("signs are +1, -1, or 0 where a label is not known.")
    if not np.isfinite(phi).all():
        raise DataError("the vectors of these samples hold NaN or infinity. Clean or scale them.")
