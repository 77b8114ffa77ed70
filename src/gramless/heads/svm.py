"""One support vector machine per label: LIBSVM on a Gram matrix, LIBLINEAR on explicit vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.svm import SVC, LinearSVC

from gramless.progress import ProgressBar

Loss = Literal["hinge", "squared_hinge"]


@dataclass(frozen=True, eq=False)
class Head:
    """Margins of every label: features @ coefficients.T + intercepts.

    The features are the columns of a map, or kernel values against support samples.
    """

    coefficients: np.ndarray  # (n_labels, n_features)
    intercepts: np.ndarray  # (n_labels,)

    def margins(self, features: np.ndarray) -> np.ndarray:
        return features @ self.coefficients.T + self.intercepts


def fit_kernel_svms(gram: np.ndarray, signs: np.ndarray, C: float, class_weight: Any) -> Head:
    """LIBSVM on a precomputed (n, n) Gram matrix, label by label; coefficients are y_i alpha_i of every sample."""

    def fit(sign: np.ndarray) -> tuple[np.ndarray, float]:
        machine = SVC(kernel="precomputed", C=C, class_weight=class_weight).fit(gram, sign)
        coefficients = np.zeros(len(gram))
        coefficients[machine.support_] = machine.dual_coef_[0]
        return coefficients, machine.intercept_[0]

    return _label_by_label(fit, signs, gram.shape[1])


def fit_linear_svms(
    phi: np.ndarray, signs: np.ndarray, C: float, loss: Loss, class_weight: Any, max_iter: int, seed: int
) -> Head:
    """LIBLINEAR on explicit vectors (n, d), label by label."""

    def fit(sign: np.ndarray) -> tuple[np.ndarray, float]:
        machine = LinearSVC(
            C=C, loss=loss, dual="auto", class_weight=class_weight, max_iter=max_iter, random_state=seed
        ).fit(phi, sign)
        return machine.coef_[0], machine.intercept_[0]

    return _label_by_label(fit, signs, phi.shape[1])


def _label_by_label(fit: Callable[[np.ndarray], tuple[np.ndarray, float]], signs: np.ndarray, n_features: int) -> Head:
    """Fit every column of signs; a label without a positive or without a negative gets its constant answer."""
    coefficients = np.zeros((signs.shape[1], n_features))
    intercepts = signs[0].copy()
    with ProgressBar("classifiers", signs.shape[1]) as progress:
        for label, sign in enumerate(signs.T):
            if sign.min() != sign.max():
                coefficients[label], intercepts[label] = fit(sign)
            progress.advance()
    return Head(coefficients, intercepts)
