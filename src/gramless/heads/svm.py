"""One support vector machine per label: LIBSVM on a Gram matrix, LIBLINEAR on explicit vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.svm import SVC, LinearSVC

from gramless.support.checks import check_array
from gramless.support.progress import ProgressBar

Loss = Literal["hinge", "squared_hinge"]

MOST_STEPS = 10_000_000  # of LIBSVM, which never ends on samples that no huge C can separate; it warns instead


Weights = Sequence[tuple[float, float]]
"""Per label, the weights of its negative and of its positive samples."""


@dataclass(frozen=True, eq=False)
class Head:
    """Margins of every label: features @ coefficients.T + intercepts.

    The features are the columns of a map, or kernel values against support samples.
    """

    coefficients: np.ndarray  # (n_labels, n_features)
    intercepts: np.ndarray  # (n_labels,)
    n_iter: int  # of the solver, the largest over labels

    def __post_init__(self) -> None:
        check_array("the coefficients of a head", self.coefficients, (None, None))
        check_array("the intercepts of a head", self.intercepts, (len(self.coefficients),))

    def margins(self, features: np.ndarray) -> np.ndarray:
        return features @ self.coefficients.T + self.intercepts


def fit_kernel_svms(
    gram: np.ndarray, signs: np.ndarray, C: float, weights: Weights, sample_weight: np.ndarray | None = None
) -> Head:
    """LIBSVM on a precomputed (n, n) Gram matrix, label by label; coefficients are y_i alpha_i of every sample."""

    def fit(sign: np.ndarray, weight: dict[int, float]) -> tuple[np.ndarray, float, int]:
        machine = SVC(kernel="precomputed", C=C, class_weight=weight, max_iter=MOST_STEPS)
        machine.fit(gram, sign, sample_weight)
        coefficients = np.zeros(len(gram))
        coefficients[machine.support_] = machine.dual_coef_[0]
        return coefficients, machine.intercept_[0], int(machine.n_iter_.max())

    return _label_by_label(fit, signs, weights, gram.shape[1])


def fit_linear_svms(
    phi: np.ndarray,
    signs: np.ndarray,
    C: float,
    loss: Loss,
    weights: Weights,
    max_iter: int,
    seed: int,
    sample_weight: np.ndarray | None = None,
) -> Head:
    """LIBLINEAR on explicit vectors (n, d), label by label."""

    def fit(sign: np.ndarray, weight: dict[int, float]) -> tuple[np.ndarray, float, int]:
        machine = LinearSVC(C=C, loss=loss, dual="auto", class_weight=weight, max_iter=max_iter, random_state=seed)
        machine.fit(phi, sign, sample_weight)
        return machine.coef_[0], machine.intercept_[0], int(machine.n_iter_)

    return _label_by_label(fit, signs, weights, phi.shape[1])


def _label_by_label(
    fit: Callable[[np.ndarray, dict[int, float]], tuple[np.ndarray, float, int]],
    signs: np.ndarray,
    weights: Weights,
    n_features: int,
) -> Head:
    """Fit every column of signs; a label without a positive or without a negative gets its constant answer."""
    coefficients = np.zeros((signs.shape[1], n_features))
    intercepts = signs[0].copy()
    n_iter = 1
    with ProgressBar("classifiers", signs.shape[1]) as progress:
        for label, (sign, (negative, positive)) in enumerate(zip(signs.T, weights, strict=True)):
            if sign.min() != sign.max():
                coefficients[label], intercepts[label], steps = fit(sign, {-1: negative, 1: positive})
                n_iter = max(n_iter, steps)
            progress.advance()
    return Head(coefficients, intercepts, n_iter)
