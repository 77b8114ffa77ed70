"""How scores become labels: what is learned for it from scores of samples that their classifiers have not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gramless.heads import Calibration, Threshold, TopGains, TopK
from gramless.heads.operating_points import OperatingPoint, best_recall_weight, operating_points


class Labelling(NamedTuple):
    """From scores, by way of probabilities where they are calibrated, to labels."""

    calibration: Calibration | None
    decision: TopGains | TopK | Threshold
    points: tuple[OperatingPoint, ...] | None = None  # that were compared
    unseen: np.ndarray | None = None  # (n, n_labels): the scores that the calibration was learned from

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """An indicator of the labels of every sample: (n, n_labels) bool."""
        return self.decision.decide(scores if self.calibration is None else self.calibration.probabilities(scores))


def learn_labelling(
    unseen_scores: Callable[[], np.ndarray],
    signs: np.ndarray,
    *,
    multilabel: bool,
    top_k: int | None,
    recall_weight: float | str | None,
    threshold: str,
) -> Labelling:
    """unseen_scores : finds out-of-fold scores, (n, n_labels) as the signs, which not every choice needs"""
    if top_k is None:
        learned = multilabel and threshold == "f1"
        return Labelling(None, Threshold.learn(unseen_scores(), signs) if learned else Threshold())
    if not multilabel:
        raise ValueError("top_k is for several labels per sample, an indicator matrix y; classes have one each.")
    if recall_weight is None:
        return Labelling(None, TopK(top_k))
    scores = unseen_scores()
    calibration = Calibration.learn(scores, signs)
    probabilities = calibration.probabilities(scores)
    if not isinstance(recall_weight, str):
        return Labelling(calibration, TopGains.learn(probabilities, signs, top_k, recall_weight), None, scores)
    points = operating_points(probabilities, signs, top_k)
    gains = TopGains.learn(probabilities, signs, top_k, best_recall_weight(points))
    return Labelling(calibration, gains, points, scores)
