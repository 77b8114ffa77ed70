"""What all classifiers become, and one support vector machine per label: LIBSVM on a Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from gramless.support.checks import check_array
from gramless.support.progress import ProgressBar

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
    """LIBSVM on a precomputed (n, n) Gram matrix, label by label; coefficients are y_i alpha_i of every sample.

    A label without a positive or without a negative gets its constant answer.
    """
    coefficients = np.zeros((signs.shape[1], len(gram)))
    intercepts = signs[0].copy()
    n_iter = 1
    with ProgressBar("classifiers", signs.shape[1]) as progress:
        for label, (sign, (negative, positive)) in enumerate(zip(signs.T, weights, strict=True)):
            if sign.min() != sign.max():
                weight = {-1: negative, 1: positive}
                machine = SVC(kernel="precomputed", C=C, class_weight=weight, max_iter=MOST_STEPS)
                machine.fit(gram, sign, sample_weight)
                coefficients[label, machine.support_] = machine.dual_coef_[0]
                intercepts[label] = machine.intercept_[0]
                n_iter = max(n_iter, int(machine.n_iter_.max()))
            progress.advance()
    return Head(coefficients, intercepts, n_iter)
