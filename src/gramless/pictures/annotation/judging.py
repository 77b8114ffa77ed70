"""How good a model's keywords are on pictures whose keywords are known."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramless.errors import DataError
from gramless.metrics import AnnotationScores, annotation_scores, mean_average_precision
from gramless.pictures.annotation.annotator import Annotator
from gramless.pictures.annotation.suggestions import Annotation
from gramless.pictures.datasets import AnnotatedPictures, Problem
from gramless.pictures.features import FeatureCache


@dataclass(frozen=True, eq=False)
class Judgement:
    """The measures of the field, in percent but for N+, and what was answered picture by picture."""

    scores: AnnotationScores  # of the given keywords
    map_pictures: float  # mean average precision over pictures, by margins
    map_keywords: float
    n_keywords: int  # that the pictures have and the model knows
    annotations: tuple[Annotation, ...]
    problems: tuple[Problem, ...]


def judge(
    annotator: Annotator, pictures: AnnotatedPictures, *, top: int | None = None, cache: FeatureCache | None = None
) -> Judgement:
    """Annotate pictures and compare with their own keywords; those that the model does not know are left out."""
    described = annotator.features.describe(pictures.paths, cache=cache)
    problems = [Problem(pictures.names[bad.position], bad.reason) for bad in described.unreadable]
    if described.views is None:
        raise DataError(f"none of the {len(pictures)} pictures can be read. The first one {problems[0].reason}.")
    readable = pictures[described.kept]
    truth, unknown = _in_vocabulary(readable, annotator.keywords)
    problems += [Problem(keyword, "is a keyword that the model was not taught") for keyword in unknown]
    if not truth.any():
        raise DataError("the pictures have none of the model's keywords, so there is nothing to compare with.")
    margins = annotator.margins(described.views)
    p = annotator.probabilities(margins)
    chosen = annotator.choose(p, top)
    annotations = tuple(
        Annotation(path, name, annotator.suggestions(p_i, chosen_i), _names(annotator.keywords, truth_i))
        for path, name, p_i, chosen_i, truth_i in zip(readable.paths, readable.names, p, chosen, truth, strict=True)
    )
    return Judgement(
        annotation_scores(chosen, truth),
        mean_average_precision(margins, truth, over="samples"),
        mean_average_precision(margins, truth, over="concepts"),
        int(truth.any(0).sum()),
        annotations,
        tuple(problems),
    )


def _in_vocabulary(pictures: AnnotatedPictures, keywords: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The labels of the pictures in the order of the model's keywords, and the keywords that it does not know."""
    column = {keyword: j for j, keyword in enumerate(keywords)}
    labels = np.zeros((len(pictures), len(keywords)), dtype=bool)
    unknown = []
    for keyword, has in zip(pictures.keywords, pictures.labels.T, strict=True):
        if keyword in column:
            labels[:, column[keyword]] = has
        elif has.any():
            unknown.append(keyword)
    return labels, unknown


def _names(keywords: Sequence[str], labels: np.ndarray) -> tuple[str, ...]:
    return tuple(itertools.compress(keywords, labels))
