"""What a person judges keywords by: how many are right and wrong, of every picture and of every keyword."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramless.metrics import (
    AnnotationScores,
    ReliabilityBin,
    annotation_scores,
    expected_calibration_error,
    mean_average_precision,
    reliability,
)


@dataclass(frozen=True)
class Counts:
    """Answers: given and right, given and wrong, and not given although right."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """In percent of what was given; nothing given is nothing right."""
        return 100.0 * self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self) -> float:
        """In percent of what is true."""
        return 100.0 * self.right / max(self.right + self.missed, 1)

    @property
    def f1(self) -> float:
        return 200.0 * self.right / max(2 * self.right + self.wrong + self.missed, 1)


@dataclass(frozen=True)
class KeywordQuality:
    """Of one keyword; `learned_from` is how many pictures the model learned it from."""

    keyword: str
    counts: Counts
    learned_from: int
    calibration_error: float


@dataclass(frozen=True, eq=False)
class Quality:
    """How good keywords are on pictures that the model had not learned from; shares in percent."""

    n_pictures: int
    counts: Counts  # of all answers together: micro-averages
    macro: AnnotationScores  # means over the keywords that the pictures have
    n_keywords: int  # that the pictures have
    map_pictures: float  # mean average precision, of every picture's ranking of keywords
    map_keywords: float  # and of every keyword's ranking of pictures
    keywords: tuple[KeywordQuality, ...]  # those that pictures have or got, the worst F1 first
    bins: tuple[ReliabilityBin, ...]
    calibration_error: float

    @property
    def never_given(self) -> tuple[str, ...]:
        """Keywords that pictures have, and that no picture got."""
        return tuple(row.keyword for row in self.keywords if not row.counts.right + row.counts.wrong)

    @property
    def never_right(self) -> tuple[str, ...]:
        """Keywords that pictures got, all of them wrongly."""
        return tuple(row.keyword for row in self.keywords if row.counts.wrong and not row.counts.right)


def quality_of(
    probabilities: np.ndarray,
    chosen: np.ndarray,
    truth: np.ndarray,
    keywords: Sequence[str],
    learned_from: np.ndarray,
    rankings: np.ndarray | None = None,
) -> Quality:
    """Of probabilities, answers and truth (n, n_keywords).

    learned_from : (n_keywords,) examples that each keyword was learned from
    rankings : scores that rankings within a keyword go by, where they are finer than the probabilities
    """
    p = np.nan_to_num(probabilities)
    ranked = p if rankings is None else rankings
    right, wrong, missed = (part.sum(0) for part in (chosen & truth, chosen & ~truth, truth & ~chosen))
    rows = [
        KeywordQuality(
            keywords[j],
            Counts(int(right[j]), int(wrong[j]), int(missed[j])),
            int(learned_from[j]),
            expected_calibration_error(p[:, [j]], truth[:, [j]]),
        )
        for j in np.flatnonzero(right + wrong + missed).tolist()
    ]
    return Quality(
        len(truth),
        Counts(int(right.sum()), int(wrong.sum()), int(missed.sum())),
        annotation_scores(chosen, truth),
        int(truth.any(0).sum()),
        mean_average_precision(ranked, truth, over="samples"),
        mean_average_precision(ranked, truth, over="concepts"),
        tuple(sorted(rows, key=lambda row: (row.counts.f1, -row.counts.missed - row.counts.wrong, row.keyword))),
        reliability(p, truth),
        expected_calibration_error(p, truth),
    )
