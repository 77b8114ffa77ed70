"""Thresholds learned label by label from out-of-fold scores; tables have them beside the sign of scores."""

from __future__ import annotations

import numpy as np

from gramless.errors import DataError
from gramless.heads import Threshold

LEAST_F1 = 0.1


def learned_threshold(scores: np.ndarray, signs: np.ndarray, least_f1: float = LEAST_F1) -> Threshold:
    """Per label the threshold with the highest F1 on out-of-fold scores (n, n_labels); NaN is no score.

    Of thresholds with the same F1 the highest is taken; it lies halfway between two scores. Where no threshold reaches
    least_f1 the classifier knows next to nothing, and the best F1 is that of saying yes to nearly all: such a label is
    given only above the highest score seen (after SCutFBR.1, Yang 2001). A label without a scored positive keeps the
    threshold 0.

    Sorting costs O(n log n) per label, all thresholds together O(n).
    """
    if scores.shape != signs.shape:
        raise DataError(f"scores of shape {scores.shape} do not belong to signs of shape {signs.shape}.")
    return Threshold(np.array([_best(*column, least_f1) for column in zip(scores.T, signs.T, strict=True)]))


def _best(scores: np.ndarray, sign: np.ndarray, least_f1: float) -> float:
    known = ~np.isnan(scores)
    order = np.argsort(-scores[known], kind="stable")
    scores, positive = scores[known][order].astype(float), sign[known][order] > 0
    if not positive.any():
        return 0.0
    given = np.arange(1, len(scores) + 1)
    f1 = 2.0 * np.cumsum(positive) / (given + positive.sum())  # of giving the label to the best 1, 2, ... samples
    below = np.append(scores[1:], -np.inf)
    f1[scores == below] = -1.0  # equal scores are given or refused together
    last = int(f1.argmax())
    if f1[last] < least_f1:
        return float(scores[0])
    return float(Threshold.between(scores[last], below[last]).thresholds)
