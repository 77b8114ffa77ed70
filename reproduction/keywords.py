"""Which five keywords a test picture gets, and how good they are."""

from __future__ import annotations

import itertools
from dataclasses import asdict

import numpy as np
import torch

from gramless.heads import out_of_fold_scores
from gramless.heads.labelling import learn_labelling
from gramless.metrics import annotation_scores, top_k
from gramless.support.pages import spread_evenly
from reproduction.cells import Figures
from reproduction.classifiers import Scores, balanced_on_map, signs_of, squared_hinge_on_map
from reproduction.collection import Collection

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
    labelling = learn_labelling(unseen, signs, multilabel=True, top_k=N_KEYWORDS, recall_weight="auto")
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
    return spread_evenly(range(n_test), N_EXAMPLES)
