"""Which loss and which C: judged by scores of samples that were left out, at little more than the cost of one fit.

Ridge regression has those scores in closed form, for every C from one spectrum. Where discriminant analysis of these
scores is ahead of the highest one by more than noise, it decides about classes. The other losses are fitted on folds,
at a few values of C, and only where they could win: with all the samples on which ridge regression errs, they must be
ahead of it, on the same folds, by more than noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch

from gramless.errors import DataError
from gramless.heads.discriminant import Discriminant, discriminated_by_folds
from gramless.heads.judging import Judgement, judge
from gramless.heads.out_of_fold import stratified_folds
from gramless.heads.ridge import Ridge, Spectrum, linear_head, spectrum_of_vectors
from gramless.heads.svm import Head
from gramless.support.progress import ProgressBar

RIDGES = tuple(10.0 ** np.arange(2.0, -4.1, -0.5))  # of the mean squared distance from the mean, the strongest first
MARGIN_C = (1.0, 10.0)  # by the same measure; the path goes on by one in the better direction
BY_RIDGE = ("ridge", "discriminant")
N_FOLDS = 5
ENOUGH_JUDGES = 1_000  # samples: no more folds are fitted than hold so many
ENOUGH_FOR_A_FOLD = 200  # samples: by so many one fold tells that all others are not worth it
MOST_COMPARED = 5_000  # samples: of more, some are drawn to compare losses on
INDISTINCT = 1e-12  # of the largest square: vectors that differ by less differ by rounding
NOISE = 2.0  # standard errors
NEGLIGIBLE = 0.01  # share of samples on which it is not worth the time to err less

MOST_DISCRIMINATED = 1_000  # classes: of more, matrices with a row and a column for each are too large for a setting

FitRows = Callable[[str, float, np.ndarray], Head]
"""The head of a kind with a C on some of the samples, by their rows."""


@dataclass(frozen=True)
class SettingsPoint:
    """What samples that were left out said of a head and its C; in percent, higher is better.

    A score by folds and one by single samples are of classifiers on more or fewer samples: they do not compare.
    """

    head: str
    C: float
    score: float
    by: str  # "leave-one-out" or "folds"


@dataclass(frozen=True, eq=False)
class Choice:
    """A head and its C, the curve that they were chosen from, and the scores of samples that were left out.

    scores : (n, n_labels); NaN for samples that no fold has held out
    discriminant : what a head's scores pass through
    """

    head: str
    C: float
    curve: tuple[SettingsPoint, ...]
    scores: np.ndarray
    discriminant: Discriminant | None = None


@dataclass(frozen=True, eq=False)
class Contest:
    """Samples on which heads are compared.

    weights : (n,) or (n, n_labels), positive: of every sample, or of every sample for every label
    fit : of the heads that are no ridge regression
    spectrum : of the vectors under weights (n,), where it is known already
    """

    vectors: np.ndarray  # (n, d)
    signs: np.ndarray  # (n, n_labels)
    weights: np.ndarray
    multilabel: bool
    fit: FitRows
    seed: int
    spectrum: Spectrum | None = None

    @property
    def of_samples(self) -> np.ndarray:
        """Weights of the samples in judgements: (n,)."""
        return self.weights if self.weights.ndim == 1 else self.weights.mean(1)

    @property
    def unit(self) -> float:
        """What strengths are measured by: the mean weight times |x - mean|^2 on average, 1 where that is rounding."""
        weights = self.of_samples
        shares = weights / weights.sum()
        squares = np.square(self.vectors - shares @ self.vectors).sum(1, dtype=np.float64)
        spread = float(shares @ squares)
        distinct = spread > INDISTINCT * (1.0 + float(np.abs(self.vectors).max()) ** 2)
        return (spread if distinct else 1.0) * float(weights.mean())

    def ridges(self, rows: np.ndarray | slice = slice(None)) -> list[tuple[np.ndarray, Ridge]]:
        """Numbers of labels, and their regression: one for all labels whose samples weigh the same."""
        vectors, signs, weights = self.vectors[rows], self.signs[rows], self.weights[rows]
        if weights.ndim == 1:
            known = self.spectrum is not None and len(self.spectrum.weights) == len(weights)
            spectrum = self.spectrum if self.spectrum is not None and known else spectrum_of_vectors(vectors, weights)
            return [(np.arange(signs.shape[1]), Ridge.of(spectrum, signs))]
        columns, groups = np.unique(weights, axis=1, return_inverse=True)
        members = [np.flatnonzero(groups.ravel() == group) for group in range(columns.shape[1])]
        return [
            (labels, Ridge.of(spectrum_of_vectors(vectors, column), signs[:, labels]))
            for labels, column in zip(members, columns.T, strict=True)
        ]

    def judge(self, scores: np.ndarray) -> Judgement:
        """Of the rows that have scores."""
        rows = np.flatnonzero(np.isfinite(scores).all(1))
        return judge(scores[rows], self.signs[rows], self.of_samples[rows], multilabel=self.multilabel)

    def folds(self) -> np.ndarray:
        """(n,), the same whenever they are asked for."""
        n_folds = min(N_FOLDS, len(self.signs))
        return stratified_folds(self.signs, n_folds, torch.Generator().manual_seed(self.seed))

    def compared(self) -> np.ndarray:
        """Rows that losses are compared on."""
        n_parts = math.ceil(len(self.signs) / MOST_COMPARED)
        if n_parts == 1:
            return np.arange(len(self.signs))
        parts = stratified_folds(self.signs, n_parts, torch.Generator().manual_seed(self.seed))
        return np.flatnonzero(parts == 0)

    def by_folds(self, head: str, C: float, rows: np.ndarray, n_folds: int) -> np.ndarray:
        """Scores of the first n_folds folds by heads on the other samples among `rows`; NaN for all others."""
        folds, scores = self.folds(), np.full(self.signs.shape, np.nan)
        taking_part = np.zeros(len(folds), dtype=bool)
        taking_part[rows] = True
        for fold in range(n_folds):
            train, test = np.flatnonzero(taking_part & (folds != fold)), np.flatnonzero(taking_part & (folds == fold))
            if len(train) and len(test):
                scores[test] = self.fit(head, C, train).margins(self.vectors[test])
        return scores


def choose(contest: Contest, heads: Sequence[str], C: float | None) -> Choice:
    """The best of some heads, at this C or the best of a path.

    heads : where "ridge" is among them, only what is ahead of it by more than noise takes its place
    """
    margin_heads = [head for head in heads if head not in BY_RIDGE]
    if len(margin_heads) == len(heads):
        return _best_margin(contest, margin_heads, C)[0]
    chosen = _best_ridge(contest, C)
    if len(heads) > 1 and _cannot_be_beaten(contest, chosen.scores):
        return chosen
    if "discriminant" in heads:
        other = _discriminated(contest, chosen)
        if "ridge" not in heads:
            if other is None:
                raise DataError(
                    "head='discriminant' takes the scores of three classes or more together, and two samples of each; "
                    f"got {_counted(contest)}. Give head='auto', which takes it where it can."
                )
            return other
        if other is not None:
            if contest.judge(other.scores).ahead_of(contest.judge(chosen.scores)) > NOISE:
                return other
            chosen = replace(chosen, curve=other.curve)
    if not margin_heads:
        return chosen
    compared = contest.compared()
    same = np.full(contest.signs.shape, np.nan)
    for labels, ridge in contest.ridges(compared):
        same[np.ix_(compared, labels)] = ridge.left_out_by_folds(chosen.C, contest.folds()[compared])
    if _behind_on_one_fold(contest, margin_heads, C, same):
        return chosen
    other, judged = _best_margin(contest, margin_heads, C)
    against = contest.judge(np.where(np.isfinite(other.scores), same, np.nan))
    curve = (*chosen.curve, SettingsPoint("ridge", chosen.C, against.score, "folds"), *other.curve)
    winner = other if judged.ahead_of(against) > NOISE else chosen
    return Choice(winner.head, winner.C, curve, winner.scores)


def chosen_ridge(vectors: np.ndarray, signs: np.ndarray) -> Choice:
    """The best ridge regression on vectors (n, d), and what it says of samples that were left out."""

    def no_other(head: str, C: float, rows: np.ndarray) -> Head:
        raise AssertionError("there are no other heads")

    return _best_ridge(Contest(vectors, signs, np.ones(len(signs)), False, no_other, 0), None)


def n_folds_to_judge(n_samples: int) -> int:
    """As many as hold enough samples, of N_FOLDS."""
    n_folds = min(N_FOLDS, n_samples)
    return min(n_folds, math.ceil(ENOUGH_JUDGES * n_folds / n_samples))


def ridge_scores(contest: Contest, C: float) -> np.ndarray:
    """What every sample gets from all the others, (n, n_labels)."""
    return _left_out(contest.ridges(), contest.signs.shape, C)


def fit_ridges(contest: Contest, C: float) -> Head:
    """Ridge regression of all labels on the vectors."""
    n_labels = contest.signs.shape[1]
    coefficients = np.zeros((n_labels, contest.vectors.shape[1]), dtype=contest.vectors.dtype)
    intercepts = np.zeros(n_labels, dtype=contest.vectors.dtype)
    for labels, ridge in contest.ridges():
        head = linear_head(ridge, contest.vectors, C)
        coefficients[labels], intercepts[labels] = head.coefficients, head.intercepts
    return Head(coefficients, intercepts, 1)


def _left_out(ridges: list[tuple[np.ndarray, Ridge]], shape: tuple[int, ...], C: float) -> np.ndarray:
    scores = np.empty(shape)
    for labels, ridge in ridges:
        scores[:, labels] = ridge.left_out_one_by_one(C)
    return scores


def _best_ridge(contest: Contest, C: float | None) -> Choice:
    ridges = contest.ridges()
    path = [float(0.5 / (ridge * contest.unit)) for ridge in RIDGES] if C is None else [C]
    curve: list[SettingsPoint] = []
    best = np.empty(0)
    with ProgressBar("choosing the strength of ridge regression", len(path)) as progress:
        for strength in path:
            scores = _left_out(ridges, contest.signs.shape, strength)
            point = SettingsPoint("ridge", strength, contest.judge(scores).score, "leave-one-out")
            if not curve or point.score > max(known.score for known in curve):
                best = scores
            curve.append(point)
            progress.advance()
    top = max(curve, key=lambda point: point.score)
    return Choice("ridge", top.C, tuple(curve), best)


def _counted(contest: Contest) -> str:
    n_labels = contest.signs.shape[1]
    if contest.multilabel or n_labels == 1:
        return "several labels per sample" if contest.multilabel else "two classes"
    return f"{n_labels:,} classes, of which the smallest has {int((contest.signs > 0).sum(0).min())}"


def _discriminated(contest: Contest, ridge: Choice) -> Choice | None:
    """The same regressions, and what their scores together say of classes; None where they are no such classes."""
    n_classes = contest.signs.shape[1]
    if contest.multilabel or not 2 < n_classes <= MOST_DISCRIMINATED:
        return None
    truth, weights = contest.signs.argmax(1), contest.of_samples
    scores = discriminated_by_folds(ridge.scores, truth, weights, contest.folds())
    if scores is None:
        return None
    point = SettingsPoint("discriminant", ridge.C, contest.judge(scores).score, "folds")
    discriminant = Discriminant.learn(ridge.scores, truth, weights)
    return Choice("discriminant", ridge.C, (*ridge.curve, point), scores, discriminant)


def _cannot_be_beaten(contest: Contest, scores: np.ndarray) -> bool:
    """Whether ridge regression errs on so few samples that being right on half of them would be within the noise."""
    if contest.multilabel:
        return False
    wrong = scores.argmax(1) != contest.signs.argmax(1) if scores.shape[1] > 1 else scores * contest.signs <= 0
    return int(wrong.sum()) <= max(2 * NOISE**2, NEGLIGIBLE * len(wrong))


def _behind_on_one_fold(contest: Contest, heads: Sequence[str], C: float | None, ridge: np.ndarray) -> bool:
    """Whether one fold that is large enough shows no C with which a head is ahead of ridge regression there.

    To be ahead by more than noise on all folds then is next to impossible, and they would take as long each.
    """
    rows = contest.compared()
    if (contest.folds()[rows] == 0).sum() < ENOUGH_FOR_A_FOLD:
        return False
    strengths = [relative / contest.unit for relative in MARGIN_C] if C is None else [C]
    for head, strength in product(heads, strengths):
        scores = contest.by_folds(head, strength, rows, 1)
        if contest.judge(scores).ahead_of(contest.judge(np.where(np.isfinite(scores), ridge, np.nan))) > 0.0:
            return False
    return True


def _best_margin(contest: Contest, heads: Sequence[str], C: float | None) -> tuple[Choice, Judgement]:
    """Of heads that are fitted on folds; a path starts in its middle and goes on where it rises."""
    rows = contest.compared()
    n_folds = n_folds_to_judge(len(rows))
    found: list[tuple[SettingsPoint, Judgement, np.ndarray]] = []

    def try_one(head: str, strength: float) -> float:
        scores = contest.by_folds(head, strength, rows, n_folds)
        judged = contest.judge(scores)
        found.append((SettingsPoint(head, strength, judged.score, "folds"), judged, scores))
        return judged.score

    with ProgressBar("choosing C", 3 * len(heads)) as progress:
        for head in heads:
            if C is not None:
                try_one(head, C)
                continue
            low, high = (try_one(head, relative / contest.unit) for relative in MARGIN_C)
            progress.advance(2)
            try_one(
                head, (MARGIN_C[1] ** 2 / MARGIN_C[0] if high > low else MARGIN_C[0] ** 2 / MARGIN_C[1]) / contest.unit
            )
            progress.advance()
    point, judged, scores = max(found, key=lambda each: each[0].score)
    return Choice(point.head, point.C, tuple(each[0] for each in found), scores), judged
