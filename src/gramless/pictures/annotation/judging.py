"""How good a model's keywords are on pictures whose keywords are known."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from gramless.errors import DataError
from gramless.pictures.annotation.annotator import Annotation, Annotator, Choice
from gramless.pictures.annotation.quality import Quality, quality_of
from gramless.pictures.datasets import AnnotatedPictures
from gramless.pictures.features import FeatureCache
from gramless.pictures.metadata.fields import lineage, paths_of_names
from gramless.support.pages import Problem


@dataclass(frozen=True, eq=False)
class Judgement:
    """How good the keywords are, and what was answered picture by picture."""

    quality: Quality
    annotations: tuple[Annotation, ...]
    problems: tuple[Problem, ...]


def judge(
    annotator: Annotator, pictures: AnnotatedPictures, *, cache: FeatureCache | None = None, **how: Unpack[Choice]
) -> Judgement:
    """Annotate pictures and compare with their own keywords; those that the model does not know are left out."""
    described = annotator.features.describe(pictures.paths, cache=cache)
    problems = [Problem(pictures.names[i], reason) for i, reason in described.unreadable.items()]
    if described.views is None:
        raise DataError(f"none of the {len(pictures)} pictures can be read. The first one {problems[0].reason}.")
    readable = pictures[described.kept]
    truth, unknown = _in_vocabulary(readable, annotator.keywords)
    problems += [Problem(keyword, "is a keyword that the model was not taught") for keyword in unknown]
    if not truth.any():
        raise DataError("the pictures have none of the model's keywords, so there is nothing to compare with.")
    margins = annotator.margins(described.views)
    p = annotator.probabilities(margins)
    chosen = annotator.choose(p, **how)
    annotations = tuple(
        Annotation(path, name, annotator.suggestions(p_i, chosen_i), _names(annotator.keywords, truth_i))
        for path, name, p_i, chosen_i, truth_i in zip(readable.paths, readable.names, p, chosen, truth, strict=True)
    )
    learned_from = (annotator.album.labels > 0).sum(0)
    quality = quality_of(p, chosen, truth, annotator.keywords, learned_from, rankings=margins)
    return Judgement(quality, annotations, tuple(problems))


def _in_vocabulary(pictures: AnnotatedPictures, keywords: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The labels of the pictures in the order of the model's keywords, and the keywords that it does not know.

    "cat" and "animal|cat", one in the pictures and one in the model, are the same where neither knows another cat.
    """
    path_of = paths_of_names((*keywords, *pictures.keywords))
    column = {path_of.get(keyword, keyword): j for j, keyword in enumerate(keywords)}
    column |= {keyword: j for j, keyword in enumerate(keywords)}
    labels = np.zeros((len(pictures), len(keywords)), dtype=bool)
    unknown = []
    for keyword, has in zip(pictures.keywords, pictures.labels.T, strict=True):
        path = keyword if keyword in column else path_of.get(keyword, keyword)
        if path in column:
            columns = [column[part] for part in lineage(path) if part in column]
            labels[:, columns] |= (has > 0)[:, None]
        elif has.any():
            unknown.append(keyword)
    return labels, unknown


def _names(keywords: Sequence[str], labels: np.ndarray) -> tuple[str, ...]:
    return tuple(itertools.compress(keywords, labels))
