"""Ridge regression on the signs of all labels: one spectrum serves every strength, and all that is left out.

For every label with signs y and weights w of the samples,

    minimise  1/2 |v|^2 + C sum_i w_i (y_i - b - <v, x_i>)^2,

the squared hinge's problem without its kink, and with a bias b that costs nothing. With x and y less their weighted
means and times the roots of the weights, X X' = U diag(s) U', z = U'y, and ridge = 1 / (2 C), the residuals are

    e = y - U diag(s / (s + ridge)) U'y,  and the leverages  h_i = w_i / sum of w + sum_k U_ik^2 s_k / (s_k + ridge).

The sample that is left out misses its sign by e_i / (1 - h_i), and the fold F that is left out by (I - H_FF)^-1 e_F,
with H = U diag(s / (s + ridge)) U' and the share of the means: exactly as if all had been fitted anew.

The spectrum costs about 9 m^3 operations, m the smaller of samples and features, and on vectors 2 n d^2 besides; every
strength costs 2 n m per label, and folds n_F^2 m each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from gramless.errors import DataError
from gramless.heads.svm import Head
from gramless.support.budget import row_blocks

BLOCK_BYTES = 2**26  # float32 vectors become float64 in blocks of this size
LEAST_SLACK = 1e-10  # of 1 - h, which is zero where one sample alone decides its own answer
RANK = 1e-10  # eigenvalues below this share of the largest are rounding: of vectors they are left out


@dataclass(frozen=True, eq=False)
class Spectrum:
    """U and s of samples with one weight each."""

    basis: np.ndarray  # (n, r)
    values: np.ndarray  # (r,), not negative
    weights: np.ndarray  # (n,), positive


def spectrum_of_gram(gram: np.ndarray, weights: np.ndarray) -> Spectrum:
    """Of kernel values (n, n) between samples; of a kernel that is not quite p.s.d. what is negative counts as zero."""
    _check(gram, weights)
    mean = gram @ (weights / weights.sum())
    centred = gram - mean[:, None] - mean[None, :] + mean @ (weights / weights.sum())
    root = np.sqrt(weights)
    values, basis = linalg.eigh(root[:, None] * centred * root, driver="evd", check_finite=False)
    return Spectrum(basis, values.clip(min=0.0), weights)


def spectrum_of_vectors(phi: np.ndarray, weights: np.ndarray) -> Spectrum:
    """Of explicit vectors (n, d), whichever of n and d is larger; the basis is of their type."""
    _check(phi, weights)
    if len(phi) <= phi.shape[1]:
        exact = phi.astype(np.float64)
        return spectrum_of_gram(exact @ exact.T, weights)
    mean, root = (weights / weights.sum()) @ phi, np.sqrt(weights)
    covariance = np.zeros((phi.shape[1],) * 2)
    rows = list(row_blocks(len(phi), 8 * phi.shape[1], BLOCK_BYTES))
    for some in rows:
        block = root[some, None] * (phi[some] - mean)
        covariance += block.T @ block
    values, vectors = linalg.eigh(covariance, driver="evd", check_finite=False)
    kept = values > RANK * values[-1]
    values, vectors = values[kept], vectors[:, kept] / np.sqrt(values[kept])
    basis = np.empty((len(phi), len(values)), dtype=phi.dtype)
    for some in rows:
        basis[some] = (root[some, None] * (phi[some] - mean)) @ vectors
    return Spectrum(basis, values, weights)


@dataclass(frozen=True, eq=False)
class Ridge:
    """Ridge regression of signs (n, n_labels) on the samples of a spectrum, for any C."""

    spectrum: Spectrum
    signs: np.ndarray  # (n, n_labels)
    centre: np.ndarray  # (n_labels,): weighted means of the signs
    targets: np.ndarray  # (n, n_labels): y above
    within: np.ndarray  # (r, n_labels): z

    @classmethod
    def of(cls, spectrum: Spectrum, signs: np.ndarray) -> Ridge:
        if len(signs) != len(spectrum.weights):
            raise DataError(f"{len(signs)} samples have signs, but the spectrum is of {len(spectrum.weights)}.")
        weights, basis = spectrum.weights, spectrum.basis
        centre = (weights / weights.sum()) @ signs
        targets = np.sqrt(weights)[:, None] * (signs - centre)
        return cls(spectrum, signs, centre, targets, basis.T @ targets)

    def left_out_one_by_one(self, C: float) -> np.ndarray:
        """What every sample gets from all the others: (n, n_labels)."""
        residuals, kept, weights = self._residuals(C), self._kept(C), self.spectrum.weights
        leverage = np.square(self.spectrum.basis) @ kept.astype(self.spectrum.basis.dtype) + weights / weights.sum()
        slack = np.maximum(1.0 - leverage, LEAST_SLACK)
        return self.signs - residuals / (np.sqrt(weights) * slack)[:, None]

    def left_out_by_folds(self, C: float, folds: np.ndarray) -> np.ndarray:
        """What every sample gets from those that are not in its fold, `folds` (n,) by number: (n, n_labels)."""
        residuals, kept, weights = self._residuals(C), self._kept(C), self.spectrum.weights
        root, total = np.sqrt(weights), weights.sum()
        missed = np.empty_like(residuals)
        for fold in np.unique(folds):
            rows = np.flatnonzero(folds == fold)
            basis = self.spectrum.basis[rows].astype(np.float64)
            slack = np.eye(len(rows)) - (basis * kept) @ basis.T - np.outer(root[rows], root[rows] / total)
            slack[np.diag_indices_from(slack)] += LEAST_SLACK
            missed[rows] = linalg.solve(slack, residuals[rows], assume_a="sym", check_finite=False)
        return self.signs - missed / root[:, None]

    def dual(self, C: float) -> np.ndarray:
        """(n, n_labels): the weights of the samples whose sum, times the samples, is v; of a kernel, its coefficients.

        They sum to zero, so that it does not matter where the samples are measured from; rounding is taken off.
        """
        weights, values = self.spectrum.weights, self.spectrum.values
        # What counts as zero has no say: times the negative part of a kernel it would.
        share = np.where(values > RANK * values.max(initial=0.0), 1.0 / (values + self._ridge(C)), 0.0)
        found = self.spectrum.basis @ (self.within * share[:, None])
        found = np.sqrt(weights)[:, None] * found
        return found - np.outer(weights / weights.sum(), found.sum(0))

    def _kept(self, C: float) -> np.ndarray:
        return self.spectrum.values / (self.spectrum.values + self._ridge(C))

    def _ridge(self, C: float) -> float:
        """An infinite C leaves as much as keeps rounding from being divided by zero."""
        return max(0.5 / C, RANK * float(self.spectrum.values.max(initial=0.0)), float(np.finfo(np.float64).tiny))

    def _residuals(self, C: float) -> np.ndarray:
        return self.targets - self.spectrum.basis @ (self._kept(C)[:, None] * self.within)


def kernel_head(ridge: Ridge, gram: np.ndarray, C: float) -> Head:
    """The head on kernel values against all the samples of the Gram matrix."""
    dual, weights = ridge.dual(C), ridge.spectrum.weights
    return Head(dual.T.copy(), ridge.centre - (weights / weights.sum()) @ gram @ dual, 1)


def linear_head(ridge: Ridge, phi: np.ndarray, C: float) -> Head:
    """The head on the vectors' columns, of their type."""
    dual, weights = ridge.dual(C), ridge.spectrum.weights
    coefficients = np.zeros((phi.shape[1], dual.shape[1]))
    for rows in row_blocks(len(phi), 8 * phi.shape[1], BLOCK_BYTES):
        coefficients += phi[rows].astype(np.float64).T @ dual[rows]
    intercepts = ridge.centre - ((weights / weights.sum()) @ phi) @ coefficients
    return Head(coefficients.T.astype(phi.dtype), intercepts.astype(phi.dtype), 1)


def _check(rows: np.ndarray, weights: np.ndarray) -> None:
    if weights.shape != (len(rows),) or not (np.isfinite(weights) & (weights > 0)).all():
        raise DataError(
            f"{len(rows)} samples need a positive, finite weight each, got weights of shape {weights.shape}: leave "
            "samples of weight 0 out."
        )
    if not np.isfinite(rows).all():
        raise DataError("the kernel values or vectors of these samples hold NaN or infinity. Clean or scale them.")
