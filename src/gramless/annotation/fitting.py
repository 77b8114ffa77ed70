"""From annotated pictures to a model of their keywords."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gramless.annotation.album import Album
from gramless.annotation.annotator import Annotator
from gramless.datasets import AnnotatedPictures, Problem
from gramless.errors import DataError, FileFormatError
from gramless.estimators import DeepMapClassifier
from gramless.features import HANDCRAFTED, LEARNED, FeatureCache, PictureFeatures, make_thumbnail
from gramless.learning import Supervised
from gramless.progress import ProgressBar
from gramless.views import Views

KERNELS = ("gaussian", "intersection", "chi2", "laplacian")
C = 2.0  # as the kernels, chosen on validation pictures of COREL5k
LEARNING_SAMPLES = 2_500  # of the network's weights; cost is quadratic in them
N_LANDMARKS = 2_000
N_KEYWORDS = 5  # per picture, the field's custom
THUMBNAIL_SIDE = 160


@dataclass(frozen=True, eq=False)
class FittedAnnotator:
    """The model, what in the data could not be used, and the file from which the same fit would continue."""

    annotator: Annotator
    problems: tuple[Problem, ...]
    checkpoint: Path | None

    def forget_checkpoint(self) -> None:
        """Delete that file: the model has been saved, and nothing need be continued."""
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)


def fit_annotator(
    pictures: AnnotatedPictures,
    views: Sequence[str] = HANDCRAFTED + LEARNED,
    *,
    cache: FeatureCache | None = None,
    n_landmarks: int = N_LANDMARKS,
    seed: int = 0,
    tell: Callable[[str], None] = lambda stage: None,
) -> FittedAnnotator:
    """Describe the pictures, learn a deep kernel of the descriptions, compile it, and learn every keyword on it.

    With a cache, features are found there the next time, and learning continues where it was interrupted, until
    `forget_checkpoint` is called. `tell` is called with the name of every stage as it begins.
    """
    check_learnable(pictures)
    tell("learning visual words")
    features = PictureFeatures.learn(pictures.paths, views, cache=cache, seed=seed)
    tell("describing pictures")
    described = features.describe(pictures.paths, cache=cache)
    problems = [Problem(pictures.names[bad.position], bad.reason) for bad in described.unreadable]
    readable = pictures[described.kept]
    if described.views is None:
        raise DataError(f"none of the {len(pictures)} pictures can be read. The first one {problems[0].reason}.")
    check_learnable(readable)
    tell("making thumbnails")
    thumbnails = _thumbnails(readable.paths)
    tell("learning keywords")
    run = _run(readable, described.views, seed)
    checkpoint = None if cache is None else cache.folder / f"learning-{run}.checkpoint"
    classifier = _learned(described.views, readable.labels, n_landmarks, seed, checkpoint)
    phi = np.asarray(classifier.map_network_.transform(described.views))
    album = Album.of(readable.names, readable.labels, phi, thumbnails)
    return FittedAnnotator(Annotator(features, classifier, readable.keywords, album), tuple(problems), checkpoint)


def check_learnable(pictures: AnnotatedPictures) -> None:
    """Refuse what no classifier can be learned from."""
    counts = pictures.labels.sum(0)
    told_apart = (counts > 0) & (counts < len(pictures))
    if len(pictures.keywords) < 2 or not told_apart.any():
        raise DataError(
            f"{len(pictures)} usable pictures with the keywords {', '.join(pictures.keywords[:5]) or 'none'} came: "
            "there must be at least two keywords, and one that some pictures have and others have not. Add pictures."
        )


def learn_keywords(
    views: Views, labels: np.ndarray, n_landmarks: int, seed: int, checkpoint: Path | None = None
) -> DeepMapClassifier:
    """The classifier of an annotator, from described pictures and their labels (n, n_keywords).

    checkpoint : a file that the same run continues from, however far it came; the caller deletes it
    """
    learning = Supervised(max_samples=LEARNING_SAMPLES, checkpoint=None if checkpoint is None else str(checkpoint))
    classifier = DeepMapClassifier(
        KERNELS,
        C=C,
        learning=learning,
        n_landmarks=min(n_landmarks, len(views)),
        top_k=min(N_KEYWORDS, labels.shape[1]),
        random_state=seed,
    ).fit(views, labels)
    return classifier.set_params(learning=learning.without_checkpoint())


def _learned(
    views: Views, labels: np.ndarray, n_landmarks: int, seed: int, checkpoint: Path | None
) -> DeepMapClassifier:
    """What `learn_keywords` gives; a damaged checkpoint is put aside as the rest of a damaged cache is."""
    try:
        return learn_keywords(views, labels, n_landmarks, seed, checkpoint)
    except FileFormatError as error:
        if checkpoint is None:
            raise
        old = checkpoint.with_suffix(".old")
        checkpoint.replace(old)
        warnings.warn(f"{error} It is now {old}, and learning begins anew.", stacklevel=3)
        return learn_keywords(views, labels, n_landmarks, seed, checkpoint)


def _run(pictures: AnnotatedPictures, views: Views, seed: int) -> str:
    """A name for everything that learning depends on, so that it is continued only by the same."""
    parts = (*pictures.keywords, *views.names, str(seed))
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape"))
    for block in (pictures.labels, *(views[name] for name in views.names)):
        digest.update(np.ascontiguousarray(block).data)
    return digest.hexdigest()[:16]


def _thumbnails(paths: Sequence[Path]) -> list[bytes]:
    thumbnails = []
    with ProgressBar("thumbnails", len(paths)) as progress:
        for path in paths:
            thumbnails.append(make_thumbnail(path, THUMBNAIL_SIDE))
            progress.advance()
    return thumbnails
