"""Classifiers of all keywords on the vectors or the kernel values of all pictures: the paper's, and ours.

Each is a function of two lists of row numbers, (fitted, asked) -> scores (n_asked, n_keywords): it learns from the
keywords of some pictures and answers for others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from gramless.annotation.fitting import C
from gramless.budget import resolve_budget
from gramless.heads import KernelOnSubset, LinearFit, fit_balanced_ensemble
from gramless.heads.fitting import N_ROUNDS, Kind
from gramless.learning import box, solve_svm_duals

Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]

BALANCED_C = 1.0  # the paper does not say
KERNEL_GAP = 5e-3
MAX_ITER = 10_000


def signs_of(labels: np.ndarray) -> np.ndarray:
    return np.where(labels > 0, 1.0, -1.0)


def balanced_on_map(phi: np.ndarray, labels: np.ndarray, seed: int) -> Scores:
    """The paper's ensembles on vectors (n, d): all positives and as many negatives, several times."""
    return _linear("balanced", BALANCED_C, phi, labels, seed)


def squared_hinge_on_map(phi: np.ndarray, labels: np.ndarray, seed: int) -> Scores:
    """Linear SVMs of all keywords at once on vectors (n, d)."""
    return _linear("squared_hinge", C, phi, labels, seed)


def balanced_on_kernel(gram: Tensor, labels: np.ndarray, seed: int) -> Scores:
    """The paper's ensembles on kernel values (n, n)."""
    values = gram.double().cpu().numpy()

    def scores(fitted: np.ndarray, asked: np.ndarray) -> np.ndarray:
        fit = KernelOnSubset(np.ascontiguousarray(values[np.ix_(fitted, fitted)]), BALANCED_C)
        generator = torch.Generator().manual_seed(seed)
        head = fit_balanced_ensemble(fit, signs_of(labels[fitted]), N_ROUNDS, generator)
        return head.margins(values[np.ix_(asked, fitted)])

    return scores


def hinge_on_kernel(gram: Tensor, labels: np.ndarray) -> Scores:
    """Kernel SVMs of all keywords at once on kernel values (n, n)."""

    def scores(fitted: np.ndarray, asked: np.ndarray) -> np.ndarray:
        rows, columns = (torch.from_numpy(numbers).to(gram.device) for numbers in (asked, fitted))
        signs = torch.from_numpy(signs_of(labels[fitted]).T).float().to(gram.device)
        known = gram[columns][:, columns].contiguous()
        solution = solve_svm_duals(known, signs, box(signs, C), gap=KERNEL_GAP)
        margins = gram[rows][:, columns].double() @ solution.coefficients.double().T + solution.bias
        return margins.cpu().numpy()

    return scores


def _linear(kind: Kind, penalty: float, phi: np.ndarray, labels: np.ndarray, seed: int) -> Scores:
    weights = [(1.0, 1.0)] * labels.shape[1]
    fit = LinearFit(kind, penalty, 1.0, MAX_ITER, resolve_budget(None), seed)

    def scores(fitted: np.ndarray, asked: np.ndarray) -> np.ndarray:
        return fit(phi[fitted], signs_of(labels[fitted]), weights).margins(phi[asked])

    return scores
