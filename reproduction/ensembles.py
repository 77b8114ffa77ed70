"""Balanced ensembles (the paper, section 5.2): against rare labels, classifiers on as many negatives as positives.

In every round a label's classifier sees all its positives and as many negatives, drawn at random without replacement; a
label's score is the mean over rounds. A linear score averages as its coefficients do,

    1/R sum_r (<w_r, x> + b_r) = <1/R sum_r w_r, x> + 1/R sum_r b_r,

and so does a kernel expansion once every round's coefficients stand at the samples that they belong to: the whole
ensemble is one head, and predicting costs no more than with one round. Fitting a label with p positives touches
R subsets of 2 p samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import joblib
import numpy as np
import torch
from sklearn.svm import SVC, LinearSVC

from gramless.heads import Head
from gramless.support.progress import ProgressBar

N_ROUNDS = 10
WORTH_PROCESSES = 1e8  # numbers in all subsets: some seconds of work, as long as processes take to start


class SubsetFit(Protocol):
    """Fits one classifier on some of the samples: rows in ascending order and their signs, both kinds present.

    The answer is coefficients (n_features,), an intercept and the solver's iterations. The features are those that the
    head will be given: the columns of a map, or kernel values against all samples.
    """

    @property
    def n_features(self) -> int: ...

    def __call__(self, rows: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, float, int]: ...


@dataclass(frozen=True, eq=False)
class LinearOnSubset:
    """LIBLINEAR on rows of explicit vectors, by the squared hinge loss."""

    phi: np.ndarray  # (n, d)
    C: float
    max_iter: int
    seed: int

    @property
    def n_features(self) -> int:
        return self.phi.shape[1]

    def __call__(self, rows: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, float, int]:
        machine = LinearSVC(C=self.C, dual="auto", max_iter=self.max_iter, random_state=self.seed)
        machine.fit(self.phi[rows], sign)
        return machine.coef_[0], float(machine.intercept_[0]), int(machine.n_iter_)


@dataclass(frozen=True, eq=False)
class KernelOnSubset:
    """LIBSVM on a part of a precomputed Gram matrix; coefficients are y_i alpha_i, zero for samples not in the part."""

    gram: np.ndarray  # (n, n)
    C: float

    @property
    def n_features(self) -> int:
        return len(self.gram)

    def __call__(self, rows: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, float, int]:
        machine = SVC(kernel="precomputed", C=self.C).fit(self.gram[np.ix_(rows, rows)], sign)
        coefficients = np.zeros(len(self.gram))
        coefficients[rows[machine.support_]] = machine.dual_coef_[0]
        return coefficients, float(machine.intercept_[0]), int(machine.n_iter_.max())


def fit_balanced_ensemble(fit: SubsetFit, signs: np.ndarray, n_rounds: int, generator: torch.Generator) -> Head:
    """The mean of n_rounds balanced classifiers for every column of signs (n, n_labels).

    A label with no more negatives than positives is fitted once, on all samples: its rounds would be the same. A label
    without a positive or without a negative gets its constant answer. Many classifiers are fitted by as many processes
    as there are cores; LIBLINEAR's random numbers belong to the process, so threads would not do.
    """
    if n_rounds < 1:
        raise ValueError(f"an ensemble needs at least one round, got n_rounds={n_rounds}.")
    coefficients = np.zeros((signs.shape[1], fit.n_features))
    intercepts = np.array(signs[0], dtype=float)
    subsets = _balanced_subsets(signs, n_rounds, generator)
    rounds = np.bincount([subset.label for subset in subsets], minlength=signs.shape[1])
    intercepts[rounds > 0] = 0.0
    n_numbers = fit.n_features * sum(len(subset.rows) for subset in subsets)
    workers = joblib.cpu_count() if n_numbers > WORTH_PROCESSES else 1
    pool = joblib.Parallel(n_jobs=workers, return_as="generator", inner_max_num_threads=1)
    fitted = pool(joblib.delayed(fit)(subset.rows, signs[subset.rows, subset.label]) for subset in subsets)
    n_iter = 1
    with ProgressBar("classifiers", len(subsets)) as progress:
        for (label, _), (w, b, steps) in zip(subsets, fitted, strict=True):
            coefficients[label] += w / rounds[label]
            intercepts[label] += b / rounds[label]
            n_iter = max(n_iter, steps)
            progress.advance()
    return Head(coefficients, intercepts, n_iter)


class _Subset(NamedTuple):
    """All positives of a label and as many negatives, by their rows in ascending order."""

    label: int
    rows: np.ndarray


def _balanced_subsets(signs: np.ndarray, n_rounds: int, generator: torch.Generator) -> list[_Subset]:
    subsets = []
    for label, sign in enumerate(signs.T):
        positives, negatives = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
        if len(positives) and len(negatives):
            for _ in range(n_rounds if len(negatives) > len(positives) else 1):
                drawn = torch.randperm(len(negatives), generator=generator)[: len(positives)].numpy()
                subsets.append(_Subset(label, np.sort(np.concatenate([positives, negatives[drawn]]))))
    return subsets
