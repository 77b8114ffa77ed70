"""Classifiers on a Gram matrix by way of the vectors that have these inner products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramless.estimators.head_settings import weights_of_samples
from gramless.heads import Contest, Head, SquaredHinge, Weights, fit_all_labels, fit_kernel_svms
from gramless.heads.choosing import BY_RIDGE, fit_ridges
from gramless.heads.ridge import Ridge, Spectrum, kernel_head, spectrum_of_gram
from gramless.support.config import current_budget

ROUNDING = 1e-7  # of the largest eigenvalue: kernel values are in float32, and less is not known of them
TOLERANCE = 1e-5
MOST_STEPS = 1_000


@dataclass(frozen=True, eq=False)
class OnKernel:
    """Samples by their kernel values with each other, and what heads on them are learned from.

    The vectors are U sqrt(s) / sqrt(w) of the centred and weighted Gram matrix's spectrum; a head v on them is the
    head sqrt(w) U v / sqrt(s) on centred kernel values.
    """

    gram: np.ndarray  # (n, n)
    signs: np.ndarray  # (n, n_labels)
    sides: Weights
    sample_weight: np.ndarray | None
    weights: np.ndarray  # (n,) or (n, n_labels)
    spectrum: Spectrum
    vectors: np.ndarray  # (n, r)
    back: np.ndarray  # (n, r): from a head on the vectors to one on kernel values

    @classmethod
    def of(cls, gram: np.ndarray, signs: np.ndarray, sides: Weights, sample_weight: np.ndarray | None) -> OnKernel:
        weights = weights_of_samples(signs, sides, sample_weight)
        shared = weights if weights.ndim == 1 else np.ones(len(gram))
        spectrum = spectrum_of_gram(gram, shared)
        kept = spectrum.values > ROUNDING * spectrum.values.max()
        if not kept.any():  # a constant kernel
            kept[-1] = True
        sizes, root = np.sqrt(spectrum.values[kept]), np.sqrt(shared)[:, None]
        vectors, back = spectrum.basis[:, kept] * sizes / root, root * spectrum.basis[:, kept]
        back = np.divide(back, sizes, out=np.zeros_like(back), where=sizes > 0)
        return cls(gram, signs, sides, sample_weight, weights, spectrum, vectors, back)

    def contest(self, multilabel: bool, seed: int) -> Contest:
        spectrum = self.spectrum if self.weights.ndim == 1 else None
        return Contest(self.vectors, self.signs, self.weights, multilabel, self._fit_rows, seed, spectrum)

    def head(self, kind: str, C: float) -> Head:
        """On kernel values against all samples."""
        if kind == "hinge":
            return fit_kernel_svms(self.gram, self.signs, C, self.sides, self.sample_weight)
        if kind in BY_RIDGE and self.weights.ndim == 1:
            return kernel_head(Ridge.of(self.spectrum, self.signs), self.gram, C)
        if kind in BY_RIDGE:
            found = fit_ridges(self.contest(True, 0), C)
        else:
            found = self._fit_rows(kind, C, np.arange(len(self.gram)))
        shares = self.spectrum.weights / self.spectrum.weights.sum()
        coefficients = self.back @ found.coefficients.T
        coefficients -= np.outer(shares, coefficients.sum(0))
        return Head(coefficients.T.copy(), found.intercepts - shares @ self.gram @ coefficients, found.n_iter)

    def _fit_rows(self, kind: str, C: float, rows: np.ndarray) -> Head:
        """On the vectors of some samples."""
        vectors, signs = self.vectors[rows], self.signs[rows]
        sample_weight = None if self.sample_weight is None else self.sample_weight[rows]
        if kind == "hinge":
            found = fit_kernel_svms(vectors @ vectors.T, signs, C, self.sides, sample_weight)
            return Head(found.coefficients @ vectors, found.intercepts, found.n_iter)
        return fit_all_labels(
            *(vectors, signs, SquaredHinge(), C, self.sides),
            budget=current_budget(),
            sample_weight=sample_weight,
            tolerance=TOLERANCE,
            max_iter=MOST_STEPS,
        )
