"""Classifiers of all keywords, the paper's and ours, which five keywords a test picture gets, and how good they are.

A classifier, on the vectors or the kernel values of all pictures, is a function of two lists of row numbers,
(fitted, asked) -> scores (n_asked, n_keywords): it learns from the keywords of some pictures and answers for others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor

from gramless.engine import choose_device
from gramless.heads import SquaredHinge, fit_all_labels, learn_labelling, out_of_fold_scores
from gramless.learning import box, solve_svm_duals
from gramless.metrics import annotation_scores, top_k
from gramless.support.config import current_budget
from reproduction.cells import Figures
from reproduction.collection import Collection
from reproduction.ensembles import N_ROUNDS, KernelOnSubset, LinearOnSubset, fit_balanced_ensemble

N_KEYWORDS = 5  # per picture, the field's custom
N_FOLDS = 5
N_EXAMPLES = 12


def best_scored(scores: Scores, pictures: Collection) -> np.ndarray:
    """The five keywords with the best scores of every test picture, as the paper answers: (n_test, n_keywords) bool."""
    return top_k(scores(pictures.train, pictures.test), N_KEYWORDS)


def most_gained(scores: Scores, pictures: Collection, seed: int, unshaped: Scores | None = None) -> np.ndarray:
    """The five that most raise recall and precision, by probabilities from out-of-fold scores of the training pictures.

    As `DeepMapClassifier` with top_k and recall_weight="auto"; no test picture is looked at to choose anything.
    `unshaped` scores on vectors that no keyword has shaped, if others do on those that keywords have.
    """
    unseen, signs = scores_of_unseen(unshaped or scores, pictures, seed)
    shaped = scores_of_unseen(scores, pictures, seed)[0] if unshaped else None
    labelling = learn_labelling(unseen, signs, multilabel=True, top_k=N_KEYWORDS, recall_weight="auto", shaped=shaped)
    return labelling.decide(scores(pictures.train, pictures.test))


def scores_of_unseen(scores: Scores, pictures: Collection, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the training pictures by classifiers that did not see them, and the signs of their labels."""
    train = pictures.train
    signs = signs_of(pictures.labels[train])
    generator = torch.Generator().manual_seed(seed)
    n_folds = min(N_FOLDS, len(train))
    return out_of_fold_scores(lambda a, b: scores(train[a], train[b]), signs, n_folds, generator), signs


def with_both_heads(
    paper_scores: Scores, our_scores: Scores, pictures: Collection, seed: int, unshaped: Scores | None = None
) -> Figures:
    """How good the keywords are as the paper chooses them, and as this package does."""
    return {
        "paper": judged(best_scored(paper_scores, pictures), pictures),
        "ours": judged(most_gained(our_scores, pictures, seed, unshaped), pictures),
    }


def on_vectors(phi: np.ndarray, pictures: Collection, seed: int, unshaped: np.ndarray | None = None) -> Figures:
    """With both heads on the vectors (n, d) of all pictures."""
    labels = pictures.labels
    before = None if unshaped is None else squared_hinge_on_map(unshaped, labels)
    ours = squared_hinge_on_map(phi, labels)
    return with_both_heads(balanced_on_map(phi, labels, seed), ours, pictures, seed, before)


def judged(chosen: np.ndarray, pictures: Collection) -> Figures:
    """R, P, F1 in percent and N+ of the test pictures, and the keywords that a few of them got."""
    scores = asdict(annotation_scores(chosen, pictures.labels[pictures.test]))
    return {
        "R": scores["recall"],
        "P": scores["precision"],
        "N+": scores["n_plus"],
        "F1": scores["f1"],
        "examples": {
            str(row): list(itertools.compress(pictures.keywords, chosen[row])) for row in example_rows(len(chosen))
        },
    }


def example_rows(n_test: int) -> list[int]:
    """A dozen test pictures, evenly spread."""
    n_shown = min(N_EXAMPLES, n_test)
    return [i * n_test // n_shown for i in range(n_shown)]


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
        fit = LinearOnSubset(phi[fitted], BALANCED_C, MAX_ITER, seed)
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
