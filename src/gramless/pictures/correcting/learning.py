"""A model that learns again from what people said: the map stays, heads and probabilities are solved anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from gramless.errors import DataError
from gramless.estimators.new_heads import fit_heads, with_new_heads, with_new_penalty
from gramless.heads import stratified_folds
from gramless.metrics import mean_average_precision
from gramless.pictures.annotation import Album, Annotator
from gramless.pictures.annotation.album import unit_rows
from gramless.pictures.correcting.labels import REST, Answers
from gramless.pictures.datasets import AnnotatedPictures
from gramless.pictures.datasets.annotated import mark_keywords
from gramless.pictures.features import PictureError, make_thumbnail

if TYPE_CHECKING:
    from gramless.pictures.correcting.open_folder import OpenFolder


SAME_PICTURE = 0.999  # a cosine from which on two pictures of one name are one; rounding to float16 leaves 0.99999
CURVE_FOLDS, CURVE_POINTS = 3, 5
LEAST_JUDGED = 6  # pictures that a quality is measured on


@dataclass(frozen=True, eq=False)
class Taught:
    """Pictures that people said something of, in the order in which they did: row i of everything is picture i."""

    names: tuple[str, ...]
    vectors: np.ndarray  # (n, n_components), of the model's map
    answers: tuple[Answers, ...]
    thumbnails: tuple[bytes, ...]

    def __len__(self) -> int:
        return len(self.names)


class CurvePoint(NamedTuple):
    """How good the model is on pictures it has not seen, had it learned from the first so many answered ones."""

    n_pictures: int
    quality: float  # mean average precision over pictures, percent


class _Lesson(NamedTuple):
    """What heads are solved on: first the rows of the album that stay, then the taught ones."""

    keywords: tuple[str, ...]
    vectors: np.ndarray
    signs: np.ndarray  # +1, -1, 0 where nobody knows
    kept: np.ndarray  # rows of the album

    @property
    def new(self) -> np.ndarray:
        """(n,): the taught ones."""
        return np.arange(len(self.vectors)) >= len(self.kept)


def training_rows(album: Album, names: Sequence[str], vectors: np.ndarray) -> dict[int, int]:
    """By position, the row of the album of pictures that the model was taught on: same name and same vector."""
    rows = {name: row for row, name in enumerate(album.names)}
    pairs = [(i, rows[name]) for i, name in enumerate(names) if name in rows]
    if not pairs:
        return {}
    here, there = (np.array(side) for side in zip(*pairs, strict=True))
    centre = album.vectors.mean(0, dtype=np.float32)
    cosines = (directions(vectors[here], centre) * directions(album.vectors[there], centre)).sum(1)
    return {int(i): int(row) for i, row, cosine in zip(here, there, cosines, strict=True) if cosine >= SAME_PICTURE}


def directions(vectors: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Rows of length 1, as seen from the mean picture: what all pictures share would make all of them alike."""
    return unit_rows(vectors.astype(np.float32) - centre)


def learn_again(base: Annotator, taught: Taught) -> Annotator:
    """The model with heads, probabilities and decisions of its training pictures and the taught ones together."""
    if not len(taught):
        raise DataError("nobody has said anything of a picture yet, so there is nothing to learn. Correct some first.")
    lesson = _lesson(base, taught)
    album = Album.of(
        (*(base.album.names[row] for row in lesson.kept), *taught.names),
        lesson.signs > 0,
        lesson.vectors,
        (*(base.album.thumbnail(row) for row in lesson.kept), *taught.thumbnails),
    )
    classifier = with_new_heads(base.classifier, lesson.vectors, lesson.signs, lesson.new)
    return replace(base, classifier=classifier, keywords=lesson.keywords, album=album)


def learning_curve(base: Annotator, taught: Taught) -> tuple[CurvePoint, ...]:
    """Quality on answered pictures by models that have not seen them, by how many of the others they learned from.

    Every point judges the same pictures, those of which all is known, so that the points compare: in each of three
    folds the model learns from its training pictures and the first 0, ..., all answered pictures of the other folds.
    Nothing where too few pictures have been answered in full.
    """
    lesson = _lesson(base, taught)
    start = len(lesson.kept)
    signs = lesson.signs[start:]
    judged = np.array([REST in answers for answers in taught.answers], dtype=bool) & (signs > 0).any(1)
    if judged.sum() < LEAST_JUDGED:
        return ()
    folds = np.full(len(taught), -1)
    folds[judged] = stratified_folds(signs[judged], CURVE_FOLDS, torch.Generator().manual_seed(0))
    numbers = np.unique(np.linspace(0, len(taught), CURVE_POINTS).round().astype(int))
    taught_anew = with_new_penalty(base.classifier, lesson.vectors, lesson.signs, lesson.new)
    points = []
    for number in numbers.tolist():
        margins = np.zeros(signs.shape)
        for fold in range(CURVE_FOLDS):
            learned = np.flatnonzero((folds != fold) & (np.arange(len(taught)) < number))
            rows = np.concatenate([np.arange(start), start + learned])
            head = fit_heads(taught_anew if number else base.classifier, lesson.vectors[rows], lesson.signs[rows])
            margins[folds == fold] = head.margins(lesson.vectors[start:][folds == fold])
        points.append(CurvePoint(number, mean_average_precision(margins[judged], signs[judged] > 0)))
    return tuple(points)


def signs_of(answers: Answers, keywords: Sequence[str]) -> np.ndarray:
    """+1 for keywords that a picture has, -1 for those that it has not, 0 for those nobody spoke of."""
    rest = -1 if REST in answers else 0
    return np.array([rest if keyword not in answers else 1 if answers[keyword] else -1 for keyword in keywords])


def _lesson(base: Annotator, taught: Taught) -> _Lesson:
    said = {keyword for answers in taught.answers for keyword, has in answers.items() if has}
    new = sorted(said - set(base.keywords))
    keywords = (*base.keywords, *new)
    replaced = set(training_rows(base.album, taught.names, taught.vectors).values())
    kept = np.array([row for row in range(len(base.album)) if row not in replaced], dtype=int)
    told = np.array([signs_of(answers, keywords) for answers in taught.answers])
    known = np.zeros((len(kept), len(keywords)))
    known[:, : len(base.keywords)] = np.where(base.album.labels[kept] > 0, 1, -1)
    # Of a new keyword the old pictures may have it or not. Only where nobody said no do they stand for those without.
    is_new = np.arange(len(keywords)) >= len(base.keywords)
    known[:, is_new & (told >= 0).all(0)] = -1
    vectors = np.vstack([base.album.vectors[kept], taught.vectors]).astype(np.float32)
    return _Lesson(keywords, vectors, np.vstack([known, told]).astype(np.float64), kept)


ALBUM_SIDE = 160


def taught_by(folder: OpenFolder, positions: Sequence[int]) -> Taught:
    """These pictures, which are described, for classifiers on the map as it is."""
    return Taught(
        tuple(folder.listing.names[i] for i in positions),
        folder.suggestions.vectors[list(positions)].astype(np.float32),
        tuple(folder.said(i) for i in positions),
        tuple(_for_album(folder, i) for i in positions),
    )


def fully_known(folder: OpenFolder) -> AnnotatedPictures:
    """Pictures whose keywords are all known, those of the model's training included, for a kernel of their own."""
    known = [i for i in dict.fromkeys([*folder.training, *folder.spoken_of()]) if REST in folder.said(i)]
    has = [[keyword for keyword, yes in folder.said(i).items() if yes] for i in known]
    vocabulary = sorted({keyword for row in has for keyword in row})
    paths = tuple(folder.listing.paths[i] for i in known)
    names = tuple(folder.listing.names[i] for i in known)
    return AnnotatedPictures(paths, names, tuple(vocabulary), mark_keywords(has, vocabulary), ())


def _for_album(folder: OpenFolder, position: int) -> bytes:
    """From the thumbnail that the page has shown: the file itself would take ten times as long."""
    try:
        return make_thumbnail(folder.thumbnail(position), ALBUM_SIDE)
    except PictureError:
        return b""
