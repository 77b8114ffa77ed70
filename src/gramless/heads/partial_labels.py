"""Classifiers of labels of which not every sample's is known."""

from __future__ import annotations

import numpy as np
import torch
from scipy import linalg

from gramless.errors import DataError
from gramless.heads.batched import BYTES_PER_NUMBER
from gramless.heads.losses import SquaredHinge
from gramless.heads.newton import Design, PrimalProblem, solve, warn_if_unfinished
from gramless.heads.ridge import RANK
from gramless.heads.svm import Head
from gramless.support.budget import row_blocks
from gramless.support.progress import ProgressBar

TOLERANCE, MOST_STEPS = 1e-4, 1_000  # as where all labels are known


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
    """One linear SVM with the squared hinge per column of signs: +1, -1, or 0 where nobody knows.

    A sample whose label is not known has a box of width 0 in that label's problem, which is as if it were not there:
    all labels are still solved side by side. A label without a known positive or without a known negative gets its
    constant answer, -1 where nothing is known at all.
    """
    _check(phi, signs)
    design = Design(torch.as_tensor(phi))
    coefficients = np.zeros((signs.shape[1], phi.shape[1]), dtype=phi.dtype)
    positive, negative = (signs > 0).any(0), (signs < 0).any(0)
    intercepts = np.where(positive & ~negative, 1.0, -1.0).astype(phi.dtype)
    varied = np.flatnonzero(positive & negative)
    n_iter = 1
    with ProgressBar("classifiers", len(varied)) as progress:
        for block in row_blocks(len(varied), float(BYTES_PER_NUMBER * sum(phi.shape)), budget):
            labels = varied[block]
            y = design.exact(signs[:, labels].T)
            problem = PrimalProblem(design, SquaredHinge(), y, C * y.abs(), torch.ones_like(y[:, :1]))
            w, n_steps, n_left = solve(problem, TOLERANCE, MOST_STEPS, progress)
            warn_if_unfinished(n_left, len(intercepts), f"{MOST_STEPS} Newton steps")
            coefficients[labels] = w[:, :-1].numpy()
            intercepts[labels] = w[:, -1].numpy()
            n_iter = max(n_iter, n_steps)
    return Head(coefficients, intercepts, n_iter)


def _check(phi: np.ndarray, signs: np.ndarray) -> None:
    if phi.ndim != 2 or len(phi) != len(signs):
        raise DataError(f"{len(signs)} samples have signs, but the vectors have shape {phi.shape}.")
    if not np.isin(signs, (-1, 0, 1)).all():
        raise DataError("signs are +1, -1, or 0 where a label is not known.")
    if not np.isfinite(phi).all():
        raise DataError("the vectors of these samples hold NaN or infinity. Clean or scale them.")
