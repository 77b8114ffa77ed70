"""The settings of a classifier that choose themselves: its loss, its C, and how scores become answers."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gramless.heads import Choice, Contest, Weights, choose, out_of_fold_scores
from gramless.heads.choosing import N_FOLDS, n_folds_to_judge, ridge_scores

AUTOMATIC = ("ridge", "discriminant", "squared_hinge")
LEAST_WEIGHT = 1e-9  # of the mean: a class of weight 0 counts next to nothing

log = logging.getLogger("gramless")


def heads_to_try(head: str, C: Any, class_weight: Any, n_labels: int) -> Sequence[str]:
    """What head="auto" is: with weights that differ from label to label, regressions do not share a spectrum.

    An infinite C, which leaves no sample on the wrong side, is the hinge's.
    """
    if head != "auto":
        return (head,)
    if math.inf == C:
        return ("hinge",)
    return ("squared_hinge",) if class_weight is not None and n_labels > 1 else AUTOMATIC


def weights_of_samples(signs: np.ndarray, sides: Weights, sample_weight: np.ndarray | None) -> np.ndarray:
    """(n,), or (n, n_labels) where sides, those of a label's negatives and positives, differ: all positive."""
    given = np.ones(len(signs)) if sample_weight is None else sample_weight
    weights = given
    if any(side != (1.0, 1.0) for side in sides):
        negative, positive = np.array(sides, dtype=float).T
        weights = given[:, None] * np.where(signs > 0, positive, negative)
        weights = weights[:, 0] if weights.shape[1] == 1 else weights
    return np.maximum(weights, LEAST_WEIGHT * weights.mean(0) + np.finfo(np.float64).tiny)


def settle(contest: Contest, heads: Sequence[str], C: float | None) -> Choice:
    """Choose what is left open; there are scores of left-out samples in any case, of labels for all samples."""
    if len(heads) > 1 or C is None or heads[0] == "discriminant":
        choice = choose(contest, heads, C)
        log.info("%s", described(choice))
    else:
        choice = Choice(heads[0], float(C), (), np.full(contest.signs.shape, np.nan))
    if choice.head == "ridge":
        known = np.isfinite(choice.scores).all()
        return choice if known else replace(choice, scores=ridge_scores(contest, choice.C))
    if contest.multilabel:
        return replace(choice, scores=_of_all_samples(contest, choice))
    if np.isfinite(choice.scores).any():
        return choice
    rows = contest.compared()
    return replace(choice, scores=contest.by_folds(choice.head, choice.C, rows, n_folds_to_judge(len(rows))))


def described(choice: Choice) -> str:
    """One line."""
    tried = {point.head for point in choice.curve}
    best = next(point for point in choice.curve if (point.head, point.C) == (choice.head, choice.C))
    return (
        f"head={choice.head!r}, C={choice.C:.3g}: {best.score:.1f} on left-out samples, the best of "
        f"{len(choice.curve)} settings ({', '.join(sorted(tried))})"
    )


def _of_all_samples(contest: Contest, choice: Choice) -> np.ndarray:
    def score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return contest.fit(choice.head, choice.C, train).margins(contest.vectors[test])

    generator = torch.Generator().manual_seed(contest.seed)
    return out_of_fold_scores(score, contest.signs, min(N_FOLDS, len(contest.signs)), generator)
