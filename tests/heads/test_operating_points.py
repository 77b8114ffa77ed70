"""The curve of recall against precision: by hand on few samples, and where its best F1 lies."""

import numpy as np
import pytest
import torch

from gramless.errors import DataError
from gramless.heads import TopGains, stratified_folds
from gramless.heads import operating_points as module
from gramless.heads.operating_points import OperatingPoint, best_recall_weight, operating_points


def keywords(rng, n=300, n_labels=12):
    """Labels from frequent to rare, calibrated probabilities of them, and signs drawn from these."""
    usual = np.geomspace(0.5, 0.03, n_labels)
    p = rng.beta(0.5 * usual, 0.5 * (1 - usual), (n, n_labels))
    return p, np.where(rng.random(p.shape) < p, 1.0, -1.0)


def measures(chosen, has):
    """Mean recall, mean precision and N+ over the labels that occur, counted one by one."""
    recalls, precisions = [], []
    for given, wanted in zip(chosen.T.tolist(), has.T.tolist(), strict=True):
        if any(wanted):
            right = sum(g and w for g, w in zip(given, wanted, strict=True))
            recalls.append(100 * right / sum(wanted))
            precisions.append(100 * right / sum(given) if any(given) else 0.0)
    return np.mean(recalls), np.mean(precisions), sum(recall > 0 for recall in recalls)


def point(weight, f1):
    return OperatingPoint(weight, 0.0, 0.0, 0.0, f1)


def decided(p, signs, k, weight):
    """Every half by gains learned on the other one."""
    halves = stratified_folds(signs, 2, torch.Generator().manual_seed(0))
    first, second = halves == 0, halves == 1
    chosen = np.empty(p.shape, dtype=bool)
    chosen[first] = TopGains.learn(p[second], signs[second], k, weight).decide(p[first])
    chosen[second] = TopGains.learn(p[first], signs[first], k, weight).decide(p[second])
    return chosen


def test_each_half_is_decided_by_gains_learned_on_the_other(rng):
    p, signs = keywords(rng)
    points = operating_points(p, signs, 3)
    assert [each.recall_weight for each in points] == sorted({each.recall_weight for each in points})
    for each in points:
        recall, precision, n_plus = measures(decided(p, signs, 3, each.recall_weight), signs > 0)
        assert each.recall == pytest.approx(recall)
        assert each.precision == pytest.approx(precision)
        assert each.n_plus == n_plus
        assert each.f1 == pytest.approx(2 * recall * precision / (recall + precision))


def test_measures_are_means_over_groups(rng, monkeypatch):
    """Three groups of a hundred: precision is lower in small ones, where a rare label is given to nobody."""
    p, signs = keywords(rng)
    (whole, *_) = operating_points(p, signs, 3)
    monkeypatch.setattr(module, "GROUP", 100)
    (grouped, *_) = operating_points(p, signs, 3)
    assert grouped.n_plus < whole.n_plus
    chosen = decided(p, signs, 3, grouped.recall_weight)
    groups = [np.flatnonzero(np.arange(300) // 2 % 3 == g) for g in range(3)]
    found = [measures(chosen[rows], signs[rows] > 0) for rows in groups]
    assert grouped.recall == pytest.approx(np.mean([recall for recall, _, _ in found]))
    assert grouped.precision == pytest.approx(np.mean([precision for _, precision, _ in found]))
    assert grouped.n_plus == pytest.approx(np.mean([n_plus for _, _, n_plus in found]))


def test_more_weight_gives_more_recall(rng):
    points = operating_points(*keywords(rng, n=2000), 3)
    assert points[-1].recall > points[0].recall + 1
    assert points[-1].precision < points[0].precision - 1


def test_labels_that_alternate_are_known_in_both_halves():
    """Pictures may come in any order: cat, dog, cat, dog."""
    signs = np.where(np.arange(40)[:, None] % 2 == np.arange(2), 1.0, -1.0)
    for each in operating_points(np.where(signs > 0, 0.9, 0.1), signs, 1):
        assert each.recall == each.precision == each.f1 == 100


def test_a_group_in_which_nobody_has_a_label_is_left_out(rng, monkeypatch):
    monkeypatch.setattr(module, "GROUP", 50)
    p, signs = keywords(rng, n=100)
    signs[np.arange(100) // 2 % 2 == 1] = -1.0
    points = operating_points(p, signs, 3)
    assert all(np.isfinite([each.recall, each.precision, each.f1]).all() for each in points)
    assert max(each.recall for each in points) > 20


@pytest.mark.parametrize("n", [2, 3])
def test_few_samples_and_no_probabilities(n):
    signs = np.full((n, 2), -1.0)
    signs[0, 0] = 1.0
    points = operating_points(np.full((n, 2), np.nan), signs, 1)
    assert [each.f1 for each in points] == [0.0] * len(points)
    assert best_recall_weight(points) > 0


def test_without_any_label_nothing_can_be_measured():
    with pytest.raises(DataError, match="none of the 4 samples has a label"):
        operating_points(np.full((4, 2), 0.5), np.full((4, 2), -1.0), 1)


def test_the_weight_with_the_best_f1_is_taken_and_of_equals_the_largest():
    curve = (point(0.5, 30.0), point(1.0, 40.0), point(2.0, 40.0), point(3.0, 39.9))
    assert best_recall_weight(curve) == 2.0
    assert best_recall_weight(curve[::-1]) == 2.0
    assert best_recall_weight((point(0.5, 40.0), point(1.0, 30.0))) == 0.5
