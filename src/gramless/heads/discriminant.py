"""Discriminant analysis of scores: for classes that lie between others, whose own score is nowhere the highest.

Each class's score is fitted apart, and by how flexible a function says little about which of them is the highest: the
score of a class in the middle is about the same everywhere, and those of its neighbours are above it on either side.
The scores together still tell it. Scores s of samples that were left out, normal in every class with means m_k and one
covariance W, have the log posterior

    f_k(s) = (s - m)' W^-1 (m_k - m) - 1/2 (m_k - m)' W^-1 (m_k - m) + log pi_k,

m their mean over all and pi_k the share of a class: with ridge regressions of classes this is Hastie, Tibshirani and
Buja's flexible discriminant analysis (1994). It is linear in the scores, so that it becomes one with the head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from gramless.errors import DataError
from gramless.heads.svm import Head
from gramless.support.checks import check_array

SHRINKAGE = 1e-6  # of the mean variance: scores of regressions sum to a constant, and have no variance that way


@dataclass(frozen=True, eq=False)
class Discriminant:
    """From scores (n, n_classes) to log posteriors, but for what all classes have in common."""

    directions: np.ndarray  # (n_classes, n_classes): rows W^-1 (m_k - m)
    offsets: np.ndarray  # (n_classes,)

    def __post_init__(self) -> None:
        check_array("the offsets of a discriminant", self.offsets, (None,))
        check_array("the directions of a discriminant", self.directions, (len(self.offsets),) * 2)

    @classmethod
    def learn(cls, scores: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> Self:
        """From scores (n, n_classes), classes by number (n,), of which each is there, and positive weights (n,)."""
        n_classes = scores.shape[1]
        members = (truth[:, None] == np.arange(n_classes)) * (weights / weights.sum())[:, None]
        shares = members.sum(0)
        if not (shares > 0).all():
            raise DataError(f"no sample has a score of the class number {int(shares.argmin())}.")
        centre = members.sum(1) @ scores
        means = (members.T @ scores) / shares[:, None] - centre
        apart = scores - centre - means[truth]
        within = (apart.T * members.sum(1)) @ apart
        size = within.trace() / n_classes or 1.0
        directions = linalg.solve(within / size + SHRINKAGE * np.eye(n_classes), means.T / size, assume_a="pos").T
        return cls(directions, np.log(shares) - directions @ centre - 0.5 * (directions * means).sum(1))

    def of(self, scores: np.ndarray) -> np.ndarray:
        return scores @ self.directions.T + self.offsets

    def folded_into(self, head: Head) -> Head:
        """The head whose margins are what this makes of the margins of another."""
        dtype = head.coefficients.dtype
        coefficients = (self.directions @ head.coefficients).astype(dtype)
        return Head(coefficients, self.of(head.intercepts).astype(dtype), head.n_iter)


def discriminated_by_folds(
    scores: np.ndarray, truth: np.ndarray, weights: np.ndarray, folds: np.ndarray
) -> np.ndarray | None:
    """What samples get from the discriminants of the other folds; None where one of them lacks a class."""
    found = np.empty_like(scores)
    for fold in np.unique(folds):
        others = folds != fold
        if len(np.unique(truth[others])) < scores.shape[1]:
            return None
        found[~others] = Discriminant.learn(scores[others], truth[others], weights[others]).of(scores[~others])
    return found
