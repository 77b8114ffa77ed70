"""Ridge regression of several targets, with every leave-one-out error over a path of strengths in closed form.

One eigendecomposition serves all strengths alpha, all targets and all samples that are left out. On a kernel,
K = V diag(s) V', with P = (K + alpha I)^-1, the sample that is left out misses its targets by e_i = (P y)_i / P_ii, and
its variance given the others is v_i = 1 / P_ii - alpha. On vectors phi, phi'phi = U diag(g) U', with the leverages
h_i = phi_i' (phi'phi + alpha I)^-1 phi_i, the same are e_i = (y_i - f_i) / (1 - h_i) and v_i = alpha h_i / (1 - h_i).

A weight w_i stands for so many copies of a sample that are left out together. Both problems are then those of the rows
sqrt(w_i) (phi_i, y_i), and e_i and v_i those of their rows over sqrt(w_i) and w_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gramless.support.checks import check_array

PER_DECADE = 3
LARGEST_ALPHA = 1e3  # of the mean diagonal
NOISES = np.logspace(-6, 6, 49)  # shares of noise that are tried, of the mean variance
NORMAL_90 = 1.6448536269514722  # nine tenths of a normal distribution lie within so many standard deviations
COVERED = 0.9
TINY = float(np.finfo(np.float64).tiny)


class RidgePath(Protocol):
    """Ridge regressions that differ in their strength alone."""

    @property
    def n_targets(self) -> int: ...

    def left_out(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """What every sample, left out, misses its targets by (n, n_targets), and its variance (n,) for unit targets."""

    def solution(self, alphas: np.ndarray) -> RidgeSolution:
        """Of the strength of every target."""


@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Answers f(x) = features(x) @ coefficients.T, and what is not known of f(x): k(x, x) - z^2 @ shrinkage.

    z = features(x) @ basis. The features are kernel values against samples, or the columns of a map.
    """

    coefficients: np.ndarray  # (n_targets, n_features)
    basis: np.ndarray  # (n_features, rank)
    shrinkage: np.ndarray  # (rank, n_targets)

    def __post_init__(self) -> None:
        check_array("the coefficients of a ridge", self.coefficients, (None, None))
        n_targets, n_features = self.coefficients.shape
        check_array("the basis of a ridge", self.basis, (n_features, None))
        check_array("the shrinkage of a ridge", self.shrinkage, (self.basis.shape[1], n_targets), least=0.0)

    def means(self, features: np.ndarray) -> np.ndarray:
        """(n, n_targets)"""
        return features @ self.coefficients.T

    def variances(self, features: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """diagonal : k(x, x), (n,); the answer is (n, n_targets)"""
        known = np.square(features @ self.basis) @ self.shrinkage
        return np.maximum(diagonal[:, None] - known, 0.0)


@dataclass(frozen=True, eq=False)
class KernelRidgePath:
    """On the Gram matrix of all samples: n^3 operations once, then n^2 for every strength and target."""

    eigenvalues: np.ndarray  # (n,) of sqrt(w) K sqrt(w), not negative
    vectors: np.ndarray  # (n, n)
    rotated: np.ndarray  # (n, n_targets)
    roots: np.ndarray  # (n,) of the weights

    @classmethod
    def of(cls, gram: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> KernelRidgePath:
        """gram (n, n), targets (n, n_targets), weights (n,) above zero."""
        roots = np.sqrt(weights)
        eigenvalues, vectors = np.linalg.eigh(roots[:, None] * np.asarray(gram, dtype=np.float64) * roots)
        return cls(np.maximum(eigenvalues, 0.0), vectors, vectors.T @ (roots[:, None] * targets), roots)

    @property
    def n_targets(self) -> int:
        return self.rotated.shape[1]

    def left_out(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        inverse = 1.0 / (self.eigenvalues + alpha)
        diagonal = np.square(self.vectors) @ inverse
        residuals = (self.vectors @ (inverse[:, None] * self.rotated)) / (diagonal * self.roots)[:, None]
        return residuals, np.maximum(1.0 / diagonal - alpha, 0.0) / np.square(self.roots)

    def solution(self, alphas: np.ndarray) -> RidgeSolution:
        basis = np.ascontiguousarray(self.roots[:, None] * self.vectors)
        shrinkage = 1.0 / (self.eigenvalues[:, None] + alphas)
        return RidgeSolution(np.ascontiguousarray((basis @ (shrinkage * self.rotated)).T), basis, shrinkage)


@dataclass(frozen=True, eq=False)
class Moments:
    """phi'phi and phi'y of all samples, which add up over blocks of them."""

    gram: np.ndarray  # (d, d)
    products: np.ndarray  # (d, n_targets)

    @classmethod
    def of(cls, phi: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Moments:
        weighted = np.asarray(phi, dtype=np.float64) * np.sqrt(weights)[:, None]
        return cls(weighted.T @ weighted, weighted.T @ (np.sqrt(weights)[:, None] * targets))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.gram + other.gram, self.products + other.products)


@dataclass(frozen=True, eq=False)
class MapRidgePath:
    """On vectors: d^3 operations once, then n d for every strength and target.

    The moments are those of all samples. The rows that are left out in turn are all of them, or some.
    """

    eigenvalues: np.ndarray  # (d,) of phi'phi, not negative
    basis: np.ndarray  # (d, d)
    rotated: np.ndarray  # (d, n_targets)
    rows: np.ndarray  # (n, d): sqrt(w) phi U of those that are left out
    targets: np.ndarray  # (n, n_targets), times sqrt(w)
    roots: np.ndarray  # (n,)

    @classmethod
    def of(cls, moments: Moments, phi: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> MapRidgePath:
        """phi (n, d), targets (n, n_targets), weights (n,) above zero: of the samples to be left out."""
        roots = np.sqrt(weights)
        eigenvalues, basis = np.linalg.eigh(moments.gram)
        rows = (roots[:, None] * np.asarray(phi, dtype=np.float64)) @ basis
        rotated = basis.T @ moments.products
        return cls(np.maximum(eigenvalues, 0.0), basis, rotated, rows, roots[:, None] * targets, roots)

    @property
    def n_targets(self) -> int:
        return self.rotated.shape[1]

    def left_out(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        inverse = 1.0 / (self.eigenvalues + alpha)
        free = np.maximum(1.0 - np.square(self.rows) @ inverse, np.finfo(np.float64).eps)  # 1 - h: rounding alone is 0
        misses = self.targets - self.rows @ (inverse[:, None] * self.rotated)
        return misses / (free * self.roots)[:, None], alpha * (1.0 - free) / (free * np.square(self.roots))

    def solution(self, alphas: np.ndarray) -> RidgeSolution:
        inverse = 1.0 / (self.eigenvalues[:, None] + alphas)
        shrinkage = self.eigenvalues[:, None] * inverse
        coefficients = np.ascontiguousarray((self.basis @ (inverse * self.rotated)).T)
        return RidgeSolution(coefficients, np.ascontiguousarray(self.basis), shrinkage)


def alpha_path(size: float, smallest: float) -> np.ndarray:
    """Strengths from `smallest` to LARGEST_ALPHA times the size of the kernel, its mean diagonal under weights."""
    decades = np.log10(LARGEST_ALPHA / smallest)
    return (size or 1.0) * np.geomspace(smallest, LARGEST_ALPHA, round(PER_DECADE * decades) + 1)


def leave_one_out_curve(path: RidgePath, alphas: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean squared error of samples that are left out in turn: (n_alphas, n_targets)."""
    shares = weights / weights.sum()
    return np.array([shares @ np.square(path.left_out(alpha)[0]) for alpha in alphas.tolist()])


def best_alphas(alphas: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """The strength with the least error, of every target; of equal ones the strongest."""
    return alphas[::-1][curve[::-1].argmin(0)]


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The variance of a new number: spread v(x) + noise, v(x) the variance of f(x) for targets of unit spread."""

    spread: np.ndarray  # (n_targets,)
    noise: np.ndarray  # (n_targets,)

    def __post_init__(self) -> None:
        check_array("the spread of an uncertainty", self.spread, (None,), least=0.0)
        check_array("the noise of an uncertainty", self.noise, self.spread.shape, least=0.0)

    def deviations(self, variances: np.ndarray) -> np.ndarray:
        """Standard deviations (n, n_targets)."""
        return np.sqrt(self.spread * variances + self.noise)


def learn_uncertainty(residuals: np.ndarray, variances: np.ndarray, weights: np.ndarray) -> Uncertainty:
    """From what samples that were left out missed, (n, n_targets), and what was not known of them, (n, n_targets).

    The share of noise is the one under which the residuals are likeliest, as those of a Gaussian process. The scale is
    such that nine tenths of the residuals lie within NORMAL_90 deviations: residuals with long tails have a larger
    mean square than what their intervals need.
    """
    shares = weights / weights.sum()
    found = [_one_uncertainty(e, v, shares, weights) for e, v in zip(residuals.T, variances.T, strict=True)]
    spread, noise = np.array(found).reshape(-1, 2).T
    return Uncertainty(spread.copy(), noise.copy())


def _one_uncertainty(
    residuals: np.ndarray, variances: np.ndarray, shares: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    size = float(shares @ variances)
    if size <= TINY:  # every sample is known: all that is left is noise
        return 0.0, _scale(residuals, weights) ** 2
    shifted = variances[:, None] / size + NOISES  # (n, n_noises)
    squares = np.square(residuals)[:, None] / shifted
    likelihood = np.log(np.maximum(shares @ squares, TINY)) + shares @ np.log(shifted)
    noise = float(NOISES[likelihood.argmin()])
    scale = _scale(residuals / np.sqrt(variances / size + noise), weights) ** 2
    return scale / size, scale * noise


def _scale(residuals: np.ndarray, weights: np.ndarray) -> float:
    """The deviation within NORMAL_90 of which nine tenths lie; with one sample more, as it is for the next one.

    Weights that are mostly below 1 are in units of their own: one sample more is one of their mean.
    """
    order = np.argsort(np.abs(residuals), kind="stable")
    reached = np.cumsum(weights[order])
    more = min(float(weights.mean()), 1.0)
    place = np.searchsorted(reached, min(COVERED * (reached[-1] + more), reached[-1]) * (1 - 1e-12))
    return float(np.abs(residuals)[order[min(place, len(order) - 1)]]) / NORMAL_90
