"""How scores become labels: what is learned for it from scores of samples that their classifiers have not seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramless.heads.calibration import Calibration, in_units_of
from gramless.heads.decisions import Threshold, TopK
from gramless.heads.f1_thresholds import f1_thresholds
from gramless.heads.operating_points import OperatingPoint, best_recall_weight, operating_points
from gramless.heads.temperature import Temperature
from gramless.heads.top_gains import TopGains


class Labelling(NamedTuple):
    """From scores to probabilities, and to labels: by way of probabilities where gains decide."""

    calibration: Calibration | Temperature
    decision: TopGains | TopK | Threshold
    points: tuple[OperatingPoint, ...] | None = None  # that were compared
    unseen: np.ndarray | None = None  # (n, n_labels): the scores that the calibration was learned from

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """An indicator of the labels of every sample: (n, n_labels) bool."""
        if isinstance(self.decision, TopGains):
            return self.decision.decide(self.calibration.probabilities(scores))
        return self.decision.decide(scores)


def learn_labelling(
    scores: np.ndarray,
    signs: np.ndarray,
    *,
    multilabel: bool,
    top_k: int | None = None,
    recall_weight: float | str | None = None,
    threshold: str = "f1",
    weights: np.ndarray | None = None,
    shaped: np.ndarray | None = None,
) -> Labelling:
    """scores : out-of-fold scores, (n, n_labels) as the signs; weights : (n,), how much every sample counts

    shaped : of several labels, scores of the same samples on vectors that the labels have shaped, where scores of new
        samples will be of such; on these no fold is unseen, and only their units are taken
    """
    if not multilabel:
        if top_k is not None:
            raise ValueError("top_k is for several labels per sample, an indicator matrix y; classes have one each.")
        return Labelling(Temperature.learn(scores, signs, weights), Threshold())
    scores = scores if shaped is None else in_units_of(scores, shaped, signs)
    calibration = Calibration.learn(scores, signs, weights)
    if top_k is None:
        if threshold != "f1":
            return Labelling(calibration, Threshold())
        likely = f1_thresholds(calibration.probabilities(scores), weights).thresholds
        return Labelling(calibration, Threshold(calibration.scores(np.asarray(likely))))
    if recall_weight is None:
        return Labelling(calibration, TopK(top_k))
    probabilities = calibration.probabilities(scores)
    if not isinstance(recall_weight, str):
        return Labelling(calibration, TopGains.learn(probabilities, signs, top_k, recall_weight), None, scores)
    points = operating_points(probabilities, signs, top_k)
    gains = TopGains.learn(probabilities, signs, top_k, best_recall_weight(points))
    return Labelling(calibration, gains, points, scores)
