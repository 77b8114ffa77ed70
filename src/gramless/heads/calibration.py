"""Making the scores of different labels comparable within a sample.

A frequent keyword's classifier gives higher scores than a rare one's for every picture, so ranking a picture's keywords
by raw scores proposes the frequent ones. Standardised per label, scores compare how unusual each is for its keyword:
more keywords are found, some precision is lost. The statistics come from training samples, so that a picture's answer
does not depend on the pictures beside it, scored by classifiers that have not seen them: out-of-fold scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from gramless.errors import DataError
from gramless.progress import ProgressBar

CONSTANT = 1e-6  # a spread under this share of the typical label's is none


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores f of a label become (f - strength shift) / scale^strength.

    strength 0 leaves the raw scores, 1 standardises them, and between the two lies a curve of recall against precision.
    The scale enters as a power, not as a mixture of raw and standardised scores, so that multiplying the scores of all
    labels by one number changes no ranking, at any strength.
    """

    shift: np.ndarray  # (n_labels,)
    scale: np.ndarray  # (n_labels,), positive
    strength: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.strength <= 1.0:
            raise ValueError(f"the strength of a calibration lies between 0 and 1, got {self.strength}.")

    @classmethod
    def learn(cls, scores: np.ndarray, signs: np.ndarray, strength: float = 1.0) -> Self:
        """Mean and standard deviation of every label's out-of-fold scores (n, n_labels); NaN, no score, is left out.

        A label whose scores do not vary keeps the typical scale, so that rounding is not blown up into a ranking. One
        that was never positive (or never negative) has no score that means anything: its constant answer is placed
        below (above) every standardised score that was seen.
        """
        if scores.shape != signs.shape:
            raise DataError(f"scores of shape {scores.shape} do not belong to signs of shape {signs.shape}.")
        known = ~np.isnan(scores)
        count = np.maximum(known.sum(0), 1)
        mean = np.where(known, scores, 0.0).sum(0) / count
        centred = np.where(known, scores - mean, 0.0)
        deviation = np.sqrt(np.square(centred).sum(0) / count)
        positive, negative = (signs > 0).any(0), (signs < 0).any(0)
        spread = deviation[positive & negative & (deviation > 0.0)]
        typical = float(np.median(spread)) if len(spread) else 1.0
        scale = np.where(positive & negative & (deviation > CONSTANT * typical), deviation, typical)
        furthest = 1.0 + np.abs(centred / scale)[:, positive & negative].max(initial=0.0)
        place = np.where(positive & negative, 0.0, np.where(positive, furthest, -furthest))
        shift = mean - place * scale
        return cls(shift, scale, strength)

    def apply(self, scores: np.ndarray) -> np.ndarray:
        """Scores (n, n_labels) that compare labels; within a label nothing changes places."""
        if scores.shape[-1] != len(self.shift):
            raise DataError(f"scores of {scores.shape[-1]} labels came, but {len(self.shift)} are calibrated.")
        return (scores - self.strength * self.shift) / self.scale**self.strength


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
