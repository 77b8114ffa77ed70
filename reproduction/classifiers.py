"""Classifiers of all keywords on the vectors or the kernel values of all pictures: the paper's, and ours.

Each is a function of two lists of row numbers, (fitted, asked) -> scores (n_asked, n_keywords): it learns from the
keywords of some pictures and answers for others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from gramless.engine import choose_device
from gramless.heads import KernelOnSubset, LinearOnSubset, SquaredHinge, fit_all_labels, fit_balanced_ensemble
from gramless.heads.ensemble import N_ROUNDS
from gramless.learning import box, solve_svm_duals
from gramless.support.config import current_budget

Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]

KERNEL_C, MAP_C = 2.0, 1.0  # chosen on validation pictures
BALANCED_C = 1.0  # the paper does not say
KERNEL_GAP = 5e-3
MAX_ITER = 10_000


def signs_of(labels: np.ndarray) -> np.ndarray:
    return np.where(labels > 0, 1.0, -1.0)


def balanced_on_map(phi: np.ndarray, labels: np.ndarray, seed: int) -> Scores:
    """The paper's ensembles on vectors (n, d): all positives and as many negatives, several times."""

    def scores(fitted: np.ndarray, asked: np.ndarray) -> np.ndarray:
        fit = LinearOnSubset(phi[fitted], BALANCED_C, "squared_hinge", MAX_ITER, seed)
        generator = torch.Generator().manual_seed(seed)
        return fit_balanced_ensemble(fit, signs_of(labels[fitted]), N_ROUNDS, generator).margins(phi[asked])

    return scores


def squared_hinge_on_map(phi: np.ndarray, labels: np.ndarray) -> Scores:
    """Linear SVMs of all keywords at once on vectors (n, d), on the GPU if there is one."""
    vectors = torch.from_numpy(phi).to(choose_device())
    weights = [(1.0, 1.0)] * labels.shape[1]
    budget = current_budget()

    def scores(fitted: np.ndarray, asked: np.ndarray) -> np.ndarray:
        known = vectors[torch.from_numpy(fitted).to(vectors.device)]
        signs = signs_of(labels[fitted])
        head = fit_all_labels(known, signs, SquaredHinge(), MAP_C, weights, budget=budget, max_iter=MAX_ITER)
        return head.margins(phi[asked])

    return scores


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
        solution = solve_svm_duals(known, signs, box(signs, KERNEL_C), gap=KERNEL_GAP)
        margins = gram[rows][:, columns].double() @ solution.coefficients.double().T + solution.bias
        return margins.cpu().numpy()

    return scores
