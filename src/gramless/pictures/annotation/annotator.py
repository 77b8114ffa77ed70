"""A fitted model of keywords: pictures in, keywords out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramless.errors import DataError
from gramless.estimators import DeepMapClassifier
from gramless.heads import TopGains
from gramless.pictures.annotation.album import Album, Neighbour
from gramless.pictures.annotation.suggestions import Annotation, Suggestion
from gramless.pictures.features import FeatureCache, PictureError, PictureFeatures
from gramless.support.checks import check_array
from gramless.views import Views


class Look(NamedTuple):
    """All about one picture: its keywords and the training pictures nearest to it, best first."""

    suggestions: tuple[Suggestion, ...]
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True, eq=False)
class Answers:
    """The annotations of the pictures that could be read, and by name why the others could not."""

    annotations: tuple[Annotation, ...]
    unreadable: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Annotator:
    """Features of pictures, a classifier on them with one label per keyword, and the album of training pictures.

    The score of a suggested keyword is the probability that a person would have given it.
    """

    features: PictureFeatures
    classifier: DeepMapClassifier
    keywords: tuple[str, ...]
    album: Album

    def __post_init__(self) -> None:
        """Refuse parts that do not belong together."""
        classifier, n_keywords = self.classifier, len(self.keywords)
        check_is_fitted(classifier)
        if not classifier.labels_.multilabel or classifier.labels_.n_columns != n_keywords:
            raise DataError(f"there are {n_keywords} keywords, and a classifier of {classifier.classes_}.")
        if not isinstance(classifier.decision_, TopGains):
            raise DataError("annotators are fitted with top_k and a weight of recall, for their probabilities.")
        if tuple(classifier.layout_) != tuple(self.features.names):
            raise DataError(
                f"pictures are described by {list(self.features.names)}, and the classifier knows "
                f"{list(classifier.layout_)}."
            )
        n_components = classifier.map_network_.map_.n_components
        check_array("the labels of the album", self.album.labels, (None, n_keywords), kinds="i")
        check_array("the vectors of the album", self.album.vectors, (None, n_components))

    def annotate(
        self,
        paths: Sequence[Path],
        names: Sequence[str],
        *,
        top: int | None = None,
        threshold: float | None = None,
        cache: FeatureCache | None = None,
    ) -> Answers:
        """Keywords of pictures.

        top : how many per picture, those that most raise recall and precision over all keywords; None, as many as the
            model was fitted for
        threshold : instead, every keyword with at least this probability
        """
        if top is not None and threshold is not None:
            raise DataError("top and threshold both came; a picture gets a number of keywords, or the probable ones.")
        described = self.features.describe(paths, cache=cache)
        unreadable = {names[bad.position]: bad.reason for bad in described.unreadable}
        if described.views is None:
            return Answers((), unreadable)
        p = self.probabilities(self.margins(described.views))
        chosen = p >= threshold if threshold is not None else self.choose(p, top)
        annotations = tuple(
            Annotation(paths[i], names[i], self.suggestions(p_i, chosen_i))
            for i, p_i, chosen_i in zip(described.kept, p, chosen, strict=True)
        )
        return Answers(annotations, unreadable)

    def look(self, picture: bytes, n_neighbours: int = 6) -> Look:
        """Keywords and nearest training pictures of one picture's file; PictureError where it is none."""
        described = self.features.describe([picture])
        if described.views is None:
            raise PictureError(described.unreadable[0].reason)
        phi = np.asarray(self.classifier.map_network_.transform(described.views))
        p = self.probabilities(self.classifier.head_.margins(phi))
        suggestions = self.suggestions(p[0], self.choose(p)[0])
        return Look(suggestions, self.album.nearest(phi[0], n_neighbours, self.keywords))

    def margins(self, views: Views) -> np.ndarray:
        """Of the classifiers, for described pictures: (n, n_keywords). What rankings within a keyword go by."""
        return self.classifier.decision_function(views)

    def probabilities(self, margins: np.ndarray) -> np.ndarray:
        """(n, n_keywords)"""
        return self.classifier.calibration_.probabilities(margins)

    def choose(self, probabilities: np.ndarray, top: int | None = None) -> np.ndarray:
        """The keywords of every picture, (n, n_keywords) bool."""
        gains = self.classifier.decision_
        assert isinstance(gains, TopGains), "annotators are fitted with top_k and a weight of recall"
        return TopGains(gains.k if top is None else top, gains.slope, gains.cost).decide(probabilities)

    def suggestions(self, probabilities: np.ndarray, chosen: np.ndarray) -> tuple[Suggestion, ...]:
        """The chosen keywords of one picture, the most probable first."""
        best = [j for j in np.argsort(-probabilities, kind="stable") if chosen[j]]
        return tuple(Suggestion(self.keywords[j], float(probabilities[j])) for j in best)
