"""Scores of training samples by classifiers that have not seen them, and the folds that make it possible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from gramless.support.progress import ProgressBar


def out_of_fold_scores(
    score: Callable[[np.ndarray, np.ndarray], np.ndarray],
    signs: np.ndarray,
    n_folds: int,
    generator: torch.Generator,
) -> np.ndarray:
    """Scores (n, n_labels) of every training sample by classifiers that have not seen it, n_folds fits in all.

    score(train, test) fits on the rows `train` and scores the rows `test`: (len(test), n_labels). On a map that is
    fit(phi[train], signs[train]).margins(phi[test]); on a kernel, gram[train][:, train] and gram[test][:, train] take
    the places of phi[train] and phi[test].

    A label that has no positive (or no negative) left in `train` has no score in `test`: NaN. One that has none at all
    keeps its constant answer.
    """
    folds = stratified_folds(signs, n_folds, generator)
    varied = signs.min(0) != signs.max(0)
    scores = np.empty(signs.shape)
    with ProgressBar("out-of-fold scores", n_folds) as progress:
        for fold in range(n_folds):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            constant = signs[train].min(0) == signs[train].max(0)
            scores[test] = np.where(constant & varied, np.nan, score(train, test))
            progress.advance()
    return scores


def stratified_folds(signs: np.ndarray, n_folds: int, generator: torch.Generator) -> np.ndarray:
    """The fold of every sample, (n,), such that each label's positives spread over the folds as evenly as can be.

    Iterative stratification (Sechidis, Tsoumakas, Vlahavas 2011): the label with the fewest samples left to place goes
    first, each of its samples to the fold that has fewest of that label, then to the one with most room. Where
    positives are the majority it is the negatives that are spread. O(n n_labels).
    """
    n = len(signs)
    if not 2 <= n_folds <= n:
        raise ValueError(f"{n} samples can be cut into 2 to {n} folds, not {n_folds}.")
    rare = np.where(2 * (signs > 0).sum(0) <= n, signs > 0, signs < 0)
    rare = np.column_stack([rare, np.ones(n, dtype=bool)])  # a label of all samples, last to go: it fills the folds
    shuffled = torch.randperm(n, generator=generator).numpy()
    folds = np.full(n, -1)
    placed = np.zeros((n_folds, rare.shape[1]), dtype=int)
    left = rare.sum(0)
    while left.any():
        label = np.where(left > 0, left, n + 1).argmin()
        for row in shuffled[rare[shuffled, label] & (folds[shuffled] < 0)]:
            fold = np.lexsort((placed[:, -1], placed[:, label]))[0]
            folds[row] = fold
            placed[fold] += rare[row]
            left -= rare[row]
    return folds
