"""DeepKernelRegressor: a deep kernel network with ridge regression on the Gram matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from gramless.estimators.distinct import DistinctSamples
from gramless.estimators.features import OnSupport
from gramless.estimators.given_kernel import KERNEL, fitted_kernel
from gramless.estimators.numbers import Numbers
from gramless.estimators.regressor import RIDGE, ViewsRegressor
from gramless.heads.ridge_path import KernelRidgePath
from gramless.support.checks import INPUT, Constraints
from gramless.views import Views

MATRICES = 5  # n x n in float64 at once: the kernel, its eigenvectors, and what LAPACK takes


class DeepKernelRegressor(OnSupport, ViewsRegressor):
    """A deep kernel network and ridge regression on its Gram matrix: a Gaussian process with a learned kernel.

    Exact, and cubic in the number of samples; DeepMapRegressor is linear.

    Parameters
    ----------
    kernel : DeepKernelNetwork, DeepKernel, FrozenEstimator or None
        A network, which is cloned and fitted here by the leave-one-out error of ridge regression; a kernel, or a frozen
        network, that is used as it is; None is a DeepKernelNetwork as it comes.
    alpha : "auto" or float
        Strength of the ridge, added to the diagonal of the Gram matrix, for targets that are standardised. "auto" takes
        the one with the least leave-one-out error, for each target.
    views : mapping of names to columns, or None
        As in DeepKernelNetwork.
    random_state
        As in DeepKernelNetwork; a network without one of its own is seeded from this one.

    Attributes
    ----------
    kernel_ : DeepKernel
    support_ : Views
        The training samples, each once.
    alpha_ : array (n_targets,)
    alpha_curve_ : array (n_alphas, 1 + n_targets)
        Strengths, and the mean squared leave-one-out error of every (standardised) target.
    ridge_, uncertainty_, targets_
        The solution, what is not known of new numbers, and the scale of the targets.
    importances_ : Importances
        Shares of views and kernels in the answers for each target, computed when they are first asked for.
    """

    linear: ClassVar[str] = "DeepMapRegressor"

    _parameter_constraints: ClassVar[Constraints] = KERNEL | RIDGE | INPUT

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: float | str = "auto",
        views: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.views = views
        self.random_state = random_state

    def _fit(self, samples: DistinctSamples, given: Views) -> None:
        n = len(samples.views)
        self._require_matrices(MATRICES, n, "ridge regression")
        standard = self.targets_.standard(samples.targets)
        self.kernel_ = fitted_kernel(self.kernel, samples.views, Numbers(standard), self.random_state)
        known = samples.views.match(self.kernel_.layout)
        self.support_ = known.dense(known.dtype)
        gram = self.kernel_.tensor(known, known).double().cpu().numpy()
        path = KernelRidgePath.of(gram, standard, samples.weights)
        self._solve(path, samples.weights, gram.diagonal(), np.zeros(n), known.dtype)

    def _features(self, views: Views) -> np.ndarray:
        return self.kernel_.tensor(views.match(self.kernel_.layout), self.support_).double().cpu().numpy()

    def _diagonal(self, views: Views) -> np.ndarray:
        return self.kernel_.diagonal_tensor(views.match(self.kernel_.layout)).double().cpu().numpy()
