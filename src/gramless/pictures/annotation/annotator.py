"""A fitted model of keywords: pictures in, keywords out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramless.errors import DataError, GramlessError
from gramless.estimators import DeepMapClassifier
from gramless.heads import Threshold, TopGains, f1_thresholds
from gramless.pictures.annotation.album import Album, Neighbour
from gramless.pictures.annotation.quality import Quality, quality_of
from gramless.pictures.features import FeatureCache, PictureError, PictureFeatures
from gramless.storage import load
from gramless.support.checks import check_array
from gramless.support.progress import Waiting
from gramless.views import Views


class Suggestion(NamedTuple):
    """A keyword, and how sure of it the model is: near 0 not at all, near 1 very."""

    keyword: str
    score: float


@dataclass(frozen=True)
class Annotation:
    """The keywords chosen for one picture, best first, and the true ones where somebody knows them.

    `name` is what people are shown; `path` is where the picture lies.
    """

    path: Path
    name: str
    suggestions: tuple[Suggestion, ...]
    truth: tuple[str, ...] | None = None

    @property
    def keywords(self) -> tuple[str, ...]:
        """The chosen keywords, best first."""
        return tuple(suggestion.keyword for suggestion in self.suggestions)

    @property
    def right(self) -> frozenset[str]:
        """Chosen and true; nothing where the truth is not known."""
        return frozenset(self.keywords) & frozenset(self.truth or ())

    @property
    def missed(self) -> tuple[str, ...]:
        """True and not chosen, in the order of the truth; nothing where the truth is not known."""
        chosen = frozenset(self.keywords)
        return tuple(keyword for keyword in self.truth or () if keyword not in chosen)


EVEN = 0.5  # of keywords that exclude each other the best one is given where it is as probable as not


class Choice(TypedDict, total=False):
    """How many keywords pictures get; `Annotator.choose` says what each of these is, of which one may be given."""

    top: int | None
    threshold: float | None
    precision: float | None


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

    The score of a suggested keyword is the probability that a person would have given it; a keyword is never given
    without its parents ("animal" of "animal|cat"), nor more probable than they.
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
        unseen = classifier.unseen_scores_
        if unseen is None or len(self.album) not in (0, len(unseen)):
            n_learned = 0 if unseen is None else len(unseen)
            raise DataError(f"{n_learned} pictures were learned from, and the album has {len(self.album)}.")
        n_components = classifier.map_network_.map_.n_components
        check_array("the labels of the album", self.album.labels, (None, n_keywords), kinds="i")
        check_array("the vectors of the album", self.album.vectors, (None, n_components))

    def annotate(self, paths: Sequence[Path], names: Sequence[str], **how: Unpack[Choice]) -> Answers:
        """Keywords of pictures: as many as each deserves, unless `choose` is told otherwise."""
        parts = tuple(self.stream(paths, names, **how))
        return Answers(
            tuple(annotation for part in parts for annotation in part.annotations),
            {name: reason for part in parts for name, reason in part.unreadable.items()},
        )

    def stream(
        self, paths: Sequence[Path], names: Sequence[str], *, cache: FeatureCache | None = None, **how: Unpack[Choice]
    ) -> Iterator[Answers]:
        """The same, a few dozen pictures at a time and in their order."""
        for described in self.features.stream(paths, cache=cache):
            unreadable = {names[i]: reason for i, reason in described.unreadable.items()}
            if described.views is None:
                yield Answers((), unreadable)
                continue
            p = self.probabilities(self.margins(described.views))
            chosen = self.choose(p, **how)
            annotations = tuple(
                Annotation(paths[i], names[i], self.suggestions(p_i, chosen_i))
                for i, p_i, chosen_i in zip(described.kept, p, chosen, strict=True)
            )
            yield Answers(annotations, unreadable)

    def look(self, picture: bytes, n_neighbours: int = 6) -> Look:
        """Keywords and nearest training pictures of one picture's file; PictureError where it is none."""
        described = self.features.describe([picture])
        if described.views is None:
            raise PictureError(described.unreadable[0])
        phi = np.asarray(self.classifier.map_network_.transform(described.views))
        p = self.probabilities(self.classifier.head_.margins(phi))
        suggestions = self.suggestions(p[0], self.choose(p)[0])
        return Look(suggestions, self.album.nearest(phi[0], n_neighbours, self.keywords))

    def margins(self, views: Views) -> np.ndarray:
        """Of the classifiers, for described pictures: (n, n_keywords). What rankings within a keyword go by."""
        return self.classifier.decision_function(views)

    def probabilities(self, margins: np.ndarray) -> np.ndarray:
        """(n, n_keywords); of a parent at least those of its children."""
        p = self.classifier.calibration_.probabilities(margins)
        for child, parent in self._child_and_parent:
            p[:, parent] = np.maximum(p[:, parent], p[:, child])
        return p

    def choose(
        self,
        probabilities: np.ndarray,
        *,
        top: int | None = None,
        threshold: float | None = None,
        precision: float | None = None,
    ) -> np.ndarray:
        """The keywords of every picture, (n, n_keywords) bool, none where none is probable enough.

        Each keyword has a threshold, such that the F1 of all answers and its mean over keywords together are highest to
        be expected. Where all training pictures have one keyword each, a picture gets one, or none.

        top : instead, so many per picture, those that most raise recall and precision over all keywords
        threshold : instead, every keyword with at least this probability
        precision : instead, as many as can be so that this share of them is right, by the training pictures
        """
        if sum(given is not None for given in (top, threshold, precision)) > 1:
            raise DataError(f"got top={top}, threshold={threshold} and precision={precision}: give one of them.")
        if top is not None:
            gains = self.classifier.decision_
            assert isinstance(gains, TopGains), "annotators are fitted with top_k and a weight of recall"
            return self._with_parents(TopGains(top, gains.slope, gains.cost).decide(probabilities))
        if precision is not None:
            return self._threshold_for(precision).decide(self._eligible(probabilities))
        if threshold is None and not self.exclusive:
            return self._with_parents(self._thresholds.decide(probabilities))
        least = EVEN if threshold is None else threshold
        return self._eligible(probabilities) >= least

    @cached_property
    def exclusive(self) -> bool:
        """Whether all pictures that were learned from have one keyword each."""
        return len(self.album) > 0 and bool((self.album.labels.sum(1) == 1).all())

    @cached_property
    def unseen_probabilities(self) -> np.ndarray:
        """(n, n_keywords), of the pictures that were learned from, by classifiers that have not seen them."""
        assert self.classifier.unseen_scores_ is not None
        return self.probabilities(self.classifier.unseen_scores_)

    @cached_property
    def _thresholds(self) -> Threshold:
        return f1_thresholds(self.unseen_probabilities)

    def unseen_quality(self) -> Quality:
        """Of the keywords that training pictures get from classifiers that have not seen them."""
        if not len(self.album):
            raise DataError("this model does not remember its training pictures, so nothing can be said of them.")
        p, truth = self.unseen_probabilities, self.album.labels > 0
        return quality_of(p, self.choose(p), truth, self.keywords, truth.sum(0))

    def _threshold_for(self, precision: float) -> Threshold:
        if not len(self.album):
            raise DataError(
                "this model does not remember its training pictures, so no threshold can be found for a precision. "
                "Give a threshold."
            )
        p = self._eligible(self.unseen_probabilities)
        return Threshold.at_precision(p, np.where(self.album.labels > 0, 1.0, -1.0), precision)

    def _eligible(self, probabilities: np.ndarray) -> np.ndarray:
        """Of keywords that exclude each other only the most probable one of every picture keeps its probability."""
        if not self.exclusive:
            return probabilities
        best = np.arange(len(self.keywords)) == probabilities.argmax(axis=1)[:, None]
        return np.where(best, probabilities, -np.inf)

    def _with_parents(self, chosen: np.ndarray) -> np.ndarray:
        for child, parent in self._child_and_parent:
            chosen[:, parent] |= chosen[:, child]
        return chosen

    @cached_property
    def _child_and_parent(self) -> list[tuple[int, int]]:
        """Numbers of keywords, the deepest children first."""
        number = {keyword: j for j, keyword in enumerate(self.keywords)}
        pairs = [(j, number.get(keyword.rpartition("|")[0])) for keyword, j in number.items()]
        known = [(child, parent) for child, parent in pairs if parent is not None]
        return sorted(known, key=lambda pair: -self.keywords[pair[0]].count("|"))

    def suggestions(self, probabilities: np.ndarray, chosen: np.ndarray) -> tuple[Suggestion, ...]:
        """The chosen keywords of one picture, the most probable first."""
        best = [j for j in np.argsort(-probabilities, kind="stable") if chosen[j]]
        return tuple(Suggestion(self.keywords[j], float(probabilities[j])) for j in best)


def load_annotator(file: Path) -> Annotator:
    """The model of keywords in a file; an error where the file holds something else."""
    if not file.is_file():
        raise GramlessError(
            f"there is no model file {file}. Check the path, or make one: gramless annotate fit PICTURES -o MODEL"
        )
    file.open("rb").close()  # where it may not be read, safetensors would say that it is not there
    with Waiting("loading the model"):
        model = load(file)
    if not isinstance(model, Annotator):
        raise GramlessError(
            f"{file} holds a {type(model).__name__}, not a model of keywords. Make one with: gramless annotate fit"
        )
    return model
