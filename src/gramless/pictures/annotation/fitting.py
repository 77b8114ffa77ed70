"""From annotated pictures to a model of their keywords."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gramless.errors import DataError
from gramless.estimators import DeepMapClassifier
from gramless.pictures.annotation.album import Album
from gramless.pictures.annotation.annotator import Annotator
from gramless.pictures.datasets import AnnotatedPictures
from gramless.pictures.features import STANDARD, FeatureCache, PictureFeatures, make_thumbnail
from gramless.pictures.features.names import vocabularies_of
from gramless.support.pages import Problem
from gramless.support.progress import ProgressBar
from gramless.views import Views

C = 1.0  # chosen on validation pictures of COREL5k
FEWEST = 10  # pictures; what fewer of them teach is chance
N_LANDMARKS = 500  # where they move, they do as well as 2,000 that do not, at a quarter of the cost
N_KEYWORDS = 5  # per picture, the field's custom
THUMBNAIL_SIDE = 160


@dataclass(frozen=True, eq=False)
class FittedAnnotator:
    """The model, and what in the data could not be used."""

    annotator: Annotator
    problems: tuple[Problem, ...]


def fit_annotator(
    pictures: AnnotatedPictures,
    views: Sequence[str] = STANDARD,
    *,
    cache: FeatureCache | None = None,
    n_landmarks: int = N_LANDMARKS,
    seed: int = 0,
    tell: Callable[[str], None] = lambda stage: None,
) -> FittedAnnotator:
    """Describe the pictures, learn a deep kernel of the descriptions, compile it, and learn every keyword on it.

    With a cache, features are found there the next time; learning is always done anew. `tell` is called with the name
    of every stage as it begins.
    """
    check_learnable(pictures)
    if vocabularies_of(views):
        tell("learning visual words")
    features = PictureFeatures.learn(pictures.paths, views, cache=cache, seed=seed)
    tell("describing pictures")
    described = features.describe(pictures.paths, cache=cache)
    problems = [Problem(pictures.names[i], reason) for i, reason in described.unreadable.items()]
    readable = pictures[described.kept]
    if described.views is None:
        raise DataError(f"none of the {len(pictures)} pictures can be read. The first one {problems[0].reason}.")
    check_learnable(readable)
    tell("making thumbnails")
    thumbnails = _thumbnails(readable.paths)
    tell("learning keywords")
    classifier = learn_keywords(described.views, readable.labels, n_landmarks, seed)
    phi = np.asarray(classifier.map_network_.transform(described.views))
    album = Album.of(readable.names, readable.labels, phi, thumbnails)
    return FittedAnnotator(Annotator(features, classifier, readable.keywords, album), tuple(problems))


def check_learnable(pictures: AnnotatedPictures) -> None:
    """Refuse what no classifier can be learned from."""
    counts = pictures.labels.sum(0)
    told_apart = (counts > 0) & (counts < len(pictures))
    if len(pictures) < FEWEST or len(pictures.keywords) < 2 or not told_apart.any():
        alone = len(pictures.keywords) == 1
        raise DataError(
            f"got {len(pictures)} usable pictures with the keywords {', '.join(pictures.keywords[:5]) or 'none'}: "
            f"there must be at least {FEWEST} pictures, at least two keywords, and one keyword that some pictures have "
            f"and others have not. Add pictures{' with other keywords: those without any are left out' * alone}."
        )


def learn_keywords(views: Views, labels: np.ndarray, n_landmarks: int, seed: int) -> DeepMapClassifier:
    """The classifier of an annotator, from described pictures and their labels (n, n_keywords)."""
    return DeepMapClassifier(
        C=C,
        n_landmarks=min(n_landmarks, len(views)),
        top_k=min(N_KEYWORDS, labels.shape[1]),
        random_state=seed,
    ).fit(views, labels)


def _thumbnails(paths: Sequence[Path]) -> list[bytes]:
    thumbnails = []
    with ProgressBar("thumbnails", len(paths)) as progress:
        for path in paths:
            thumbnails.append(make_thumbnail(path, THUMBNAIL_SIDE))
            progress.advance()
    return thumbnails
