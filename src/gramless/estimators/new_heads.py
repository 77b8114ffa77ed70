"""New classifiers on a map that stays: what more labels cost where the vectors are known already."""

from __future__ import annotations

from copy import copy

import numpy as np
import torch
from sklearn.metrics import average_precision_score

from gramless.errors import DataError
from gramless.estimators.deep_map_classifier import DeepMapClassifier
from gramless.heads import Head, Labels, out_of_fold_scores
from gramless.heads.choosing import BY_RIDGE
from gramless.heads.labelling import learn_labelling
from gramless.heads.partial_labels import fit_known_hinges, fit_known_ridges
from gramless.support.config import current_budget

SEED = 0  # of the folds
N_FOLDS = 5
PENALTIES = (1.0, 3.0, 10.0)  # times the C that a classifier has, which was chosen on samples that its map was made of
LEAST_JUDGED = 8  # samples that another C is chosen by


def with_new_heads(
    classifier: DeepMapClassifier, vectors: np.ndarray, signs: np.ndarray, new: np.ndarray
) -> DeepMapClassifier:
    """The classifier with its map and its kind of head, and heads, probabilities and decisions learned anew.

    vectors : (n, n_components), of the classifier's own map
    signs : (n, n_labels), +1, -1, or 0 where a label is not known; there may be more labels than the classifier had
    new : (n,) bool, samples that the map was not made of
    """
    if classifier.class_weight is not None:
        raise ValueError(
            f"class_weight={classifier.class_weight!r}: heads are learned anew without weights of classes. Fit anew "
            "instead."
        )
    n_components = classifier.map_network_.map_.n_components
    if vectors.ndim != 2 or vectors.shape[1] != n_components:
        raise DataError(f"the map gives vectors of {n_components} numbers, but they have shape {vectors.shape}.")
    vectors = vectors.astype(np.float32)

    fresh = with_new_penalty(classifier, vectors, signs, new)
    unseen = _unseen_scores(fresh, vectors, signs)
    fresh.labels_ = Labels(np.arange(signs.shape[1]), multilabel=True)
    fresh.classes_ = fresh.labels_.classes
    labelling = learn_labelling(
        np.where(signs == 0, np.nan, unseen),
        signs,
        multilabel=True,
        top_k=None if classifier.top_k is None else min(classifier.top_k, signs.shape[1]),
        recall_weight=classifier.recall_weight,
        threshold=classifier.threshold,
    )
    fresh.take_labelling(labelling)
    if fresh.discriminant_ is not None:  # it is of classes
        fresh.discriminant_, fresh.head_kind_ = None, "ridge"
    fresh.head_ = fit_heads(fresh, vectors, signs)
    fresh.n_iter_ = fresh.head_.n_iter
    fresh.settings_curve_ = ()  # it was of other labels
    fresh.online_ = None  # what it remembers is of other labels
    return fresh


def with_new_penalty(
    classifier: DeepMapClassifier, vectors: np.ndarray, signs: np.ndarray, new: np.ndarray
) -> DeepMapClassifier:
    """The classifier with its C, or a larger one where new samples, left out in turn, are ranked better by that.

    Of samples that the map was made of each has a coordinate to itself, which others have not: a C that suits them
    shrinks too much for others.
    """
    if new.sum() < LEAST_JUDGED:
        return copy(classifier)
    candidates = []
    for factor in PENALTIES:
        candidate = copy(classifier)
        candidate.C_ = factor * classifier.C_
        candidates.append(candidate)
    return max(candidates, key=lambda one: _ranking(_unseen_scores(one, vectors, signs)[new], signs[new]))


def _ranking(scores: np.ndarray, signs: np.ndarray) -> float:
    """Average precision of all answers together, of those that are known and could be learned."""
    known = (signs != 0) & np.isfinite(scores)
    truth = signs[known] > 0
    return float(average_precision_score(truth, scores[known])) if truth.any() else 0.0


def _unseen_scores(classifier: DeepMapClassifier, vectors: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Of every sample by heads that were not fitted to it; NaN for labels that the others do not tell apart."""

    def score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        told_apart = (signs[train] > 0).any(0) & (signs[train] < 0).any(0)
        head = fit_heads(classifier, vectors[train], signs[train])
        return np.where(told_apart, head.margins(vectors[test]), np.nan)

    return out_of_fold_scores(score, signs, min(N_FOLDS, len(vectors)), torch.Generator().manual_seed(SEED))


def fit_heads(classifier: DeepMapClassifier, vectors: np.ndarray, signs: np.ndarray) -> Head:
    """Heads of a classifier's kind and with its C, without probabilities and decisions."""
    if classifier.head_kind_ in BY_RIDGE:
        return fit_known_ridges(vectors, signs, classifier.C_)
    return fit_known_hinges(vectors, signs, classifier.C_, budget=current_budget())
