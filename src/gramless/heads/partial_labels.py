"""Classifiers of labels of which not every sample's is known."""

from __future__ import annotations

import numpy as np
import torch

from gramless.errors import DataError
from gramless.heads.batched import BYTES_PER_NUMBER
from gramless.heads.losses import SquaredHinge
from gramless.heads.newton import Design, Problem, solve, warn_if_unfinished
from gramless.heads.svm import Head
from gramless.support.budget import row_blocks
from gramless.support.progress import ProgressBar

TOLERANCE = 1e-4  # as where all labels are known


def fit_known_labels(phi: np.ndarray, signs: np.ndarray, C: float, *, budget: int, max_iter: int = 1000) -> Head:
    """One linear SVM with the squared hinge per column of signs: +1, -1, or 0 where nobody knows.

    A sample whose label is not known has a box of width 0 in that label's problem, which is as if it were not there:
    all labels are still solved side by side. A label without a known positive or without a known negative gets its
    constant answer, -1 where nothing is known at all.
    """
    if phi.ndim != 2 or len(phi) != len(signs):
        raise DataError(f"{len(signs)} samples have signs, but the vectors have shape {phi.shape}.")
    if not np.isin(signs, (-1, 0, 1)).all():
        raise DataError("signs are +1, -1, or 0 where a label is not known.")
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
            problem = Problem(design, SquaredHinge(), y, C * y.abs(), torch.ones_like(y[:, :1]))
            w, n_steps, n_left = solve(problem, TOLERANCE, max_iter, progress)
            warn_if_unfinished(n_left, len(intercepts), f"{max_iter} Newton steps")
            coefficients[labels] = w[:, :-1].numpy()
            intercepts[labels] = w[:, -1].numpy()
            n_iter = max(n_iter, n_steps)
    return Head(coefficients, intercepts, n_iter)
