"""What the two regressors share: numbers in, features of their own, ridge regression, means and deviations out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import check_consistent_length

from gramless.blocks import Blocks
from gramless.errors import DataError
from gramless.estimators.block_inputs import answered, blocks_to_learn, blocks_to_use
from gramless.estimators.distinct import DistinctSamples, distinct_samples
from gramless.estimators.fitted import fitted_in_one_step
from gramless.estimators.fitted_html import Fact, Tried, regressor_facts
from gramless.estimators.given_kernel import describe
from gramless.estimators.importances import Explained
from gramless.estimators.inputs import as_weights, views_as_given, views_to_use
from gramless.estimators.numbers import TargetScale, as_numbers
from gramless.estimators.parameters import PENALTY
from gramless.heads.ridge_path import (
    RidgePath,
    RidgeSolution,
    Uncertainty,
    alpha_path,
    best_alphas,
    learn_uncertainty,
    leave_one_out_curve,
)
from gramless.support.budget import row_blocks
from gramless.support.checks import Constraints, StrOptions, check_array
from gramless.support.config import current_budget
from gramless.support.threads import threads_for
from gramless.views import Views
from gramless.views.completion import completed

SMALLEST_ALPHA = {torch.float32: 1e-5, torch.float64: 1e-10}  # of the weighted diagonal's mean: below is rounding

RIDGE: Constraints = {"alpha": [PENALTY, StrOptions({"auto"})]}
"""Of every estimator with a ridge regression of its own."""


class ViewsRegressor(Explained, RegressorMixin, BaseEstimator):
    """Ridge regression on Views, of one number per sample (n,) or several (n, n_targets).

    A subclass learns what turns samples into features, and the paths of ridge regressions on them.
    """

    targets_: TargetScale
    ridge_: RidgeSolution
    uncertainty_: Uncertainty
    alpha_: np.ndarray
    alpha_curve_: np.ndarray

    @abstractmethod
    def _fit(self, samples: DistinctSamples, given: Views) -> None:
        """Learn from samples that differ; `given` are those that came, in their order. Ends in `_solve`."""

    @abstractmethod
    def _fit_blocks(self, blocks: Blocks) -> None:
        """Learn from samples in blocks that bring their targets along."""

    @abstractmethod
    def _diagonal(self, views: Views) -> np.ndarray:
        """k(x, x) of every sample: (n,)."""

    @property
    def _answers(self) -> tuple[RidgeSolution, np.ndarray]:
        return self.ridge_, np.arange(self.targets_.n_targets)

    def _head_facts(self) -> tuple[list[Fact], Tried | None]:
        return regressor_facts(self)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from samples and their numbers, in memory or in blocks; these may bring their numbers along.

        sample_weight : (n,), not negative: a weight of 2 is that of two equal samples, of 0 that of none. Weights count
            in the ridge regression, in the choice of its strength and in what is not known. The network and its
            landmarks are learned from all samples with a weight alike.
        """
        with fitted_in_one_step(self) as fresh:
            fresh._fit_anything(X, y, sample_weight)
        return self

    def _fit_anything(self, X: Any, y: Any, sample_weight: Any) -> None:
        blocks = blocks_to_learn(self, X, y, sample_weight)
        if blocks is not None:
            self._fit_blocks(blocks)
            return
        views = views_as_given(self, X)
        y = as_numbers(y)
        check_consistent_length(views, y)
        weights = as_weights(sample_weight, views)
        if views.incomplete:
            views = completed(views, views[np.flatnonzero(weights > 0)])
        samples = distinct_samples(views, y, weights)
        self.targets_ = TargetScale.of(samples.targets, samples.weights)
        with threads_for(len(views)):
            self._fit(samples, views)

    def _solve(
        self, path: RidgePath, weights: np.ndarray, diagonal: np.ndarray, hidden: np.ndarray, dtype: torch.dtype
    ) -> None:
        """Choose the strength of every target, solve, and learn what is not known.

        weights, diagonal, hidden : (n,) of the samples that the path leaves out: k(x, x), and what of it the features
            do not show
        dtype : the type that kernel values were computed in
        """
        alphas = alpha_path(float(np.mean(weights * diagonal)), SMALLEST_ALPHA[dtype])
        alphas = alphas if self.alpha == "auto" else np.array([float(self.alpha)])
        curve = leave_one_out_curve(path, alphas, weights)
        self.alpha_ = best_alphas(alphas, curve)
        self.alpha_curve_ = np.column_stack([alphas, curve])
        self.ridge_ = path.solution(self.alpha_)
        residuals, variances = np.empty((2, len(hidden), path.n_targets))
        for alpha in np.unique(self.alpha_).tolist():
            missed, unknown = path.left_out(alpha)
            columns = np.flatnonzero(self.alpha_ == alpha)
            residuals[:, columns] = missed[:, columns]
            variances[:, columns] = (unknown + hidden)[:, None]
        self.uncertainty_ = learn_uncertainty(residuals, variances, weights)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The number of every sample, (n,) or (n, n_targets), as y had it; of data in blocks when it is asked for.

        return_std : also standard deviations, of the same shape: of a number, noise included, not of its mean. Nine
            tenths of new numbers are to lie within 1.645 of them.
        """
        blocks = blocks_to_use(self, X)
        if blocks is not None:
            means = answered(self, "predict", blocks)
            return (means, answered(self, "_deviations", blocks)) if return_std else means
        views = views_to_use(self, X)
        means = self.targets_.means(np.concatenate([self.ridge_.means(self._features(b)) for b in self._pieces(views)]))
        return (means, self._deviations(views)) if return_std else means

    def _deviations(self, X: Any) -> np.ndarray:
        pieces = self._pieces(views_to_use(self, X))
        found = [self.ridge_.variances(self._features(b), self._diagonal(b)) for b in pieces]
        return self.targets_.deviations(self.uncertainty_.deviations(np.concatenate(found)))

    def _pieces(self, views: Views) -> list[Views]:
        return [views[rows] for rows in row_blocks(len(views), 4 * 8.0 * self._n_features, current_budget())]

    def check_fitted(self) -> None:
        super().check_fitted()
        n_targets = self.targets_.n_targets
        check_array("the coefficients of a ridge", self.ridge_.coefficients, (n_targets, self._n_features))
        check_array("the noise of an uncertainty", self.uncertainty_.noise, (n_targets,))
        check_array("the strengths of ridges", self.alpha_, (n_targets,), least=0.0)
        check_array("the errors by strength", self.alpha_curve_, (None, 1 + n_targets), least=0.0)
        if not len(self.alpha_curve_):
            raise DataError("a regressor was chosen from at least one strength.")

    def __sklearn_tags__(self) -> Any:
        tags = describe(super().__sklearn_tags__(), self.kernel)
        tags.target_tags.multi_output = True
        return tags
