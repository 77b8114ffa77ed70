"""Pictures in, Views out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gramless.errors import DataError
from gramless.pictures.features.cache import FeatureCache
from gramless.pictures.features.names import (
    DESCRIPTOR_WIDTHS,
    STANDARD,
    check_names,
    vocabularies_of,
    words_of,
)
from gramless.pictures.features.pictures import Source
from gramless.pictures.features.rows import compute_rows, recipe
from gramless.support.checks import check_array
from gramless.support.packages import needed
from gramless.support.progress import ProgressBar
from gramless.views import Views

AT_ONCE = 64  # pictures of a stream: some seconds of work for a few cores


class Described(NamedTuple):
    """The views of those pictures that could be read."""

    views: Views | None  # one row per readable picture; None where there is none
    kept: NDArray[np.intp]  # the positions of the rows among the sources, ascending
    unreadable: Mapping[int, str]  # the other positions, ascending, with reasons that follow "this picture"


@dataclass(frozen=True, eq=False)
class PictureFeatures:
    """How pictures become Views: the views by name, and the visual words of those that count words.

    Rows of histograms sum to 1. A picture without a single corner has a zero row in the views of Harris points, which
    every kernel takes.
    """

    names: tuple[str, ...]
    words: Mapping[str, np.ndarray]  # by view, as DenseSift: (n_words, width) float32

    def __post_init__(self) -> None:
        check_names(self.names)
        lacking = [view for view in vocabularies_of(self.names) if view not in self.words]
        if lacking:
            raise DataError(f"the visual words of {', '.join(lacking)} are missing: PictureFeatures.learn learns them.")
        for view, words in self.words.items():
            check_array(f"the visual words of {view}", words, (None, DESCRIPTOR_WIDTHS.get(view)))
            if not len(words):
                raise DataError(f"there is not a single visual word of {view}.")

    @classmethod
    def learn(
        cls,
        sources: Sequence[Source],
        names: Sequence[str] = STANDARD,
        *,
        cache: FeatureCache | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> Self:
        """Learn the visual words that the named views need on at most 1,500 of the (training) pictures.

        seed : decides on which pictures and descriptors, and where k-means starts
        n_jobs : processes, or None for one per core
        """
        names = tuple(names)
        check_names(names)
        _check_packages()
        from gramless.pictures.features.handcrafted import learn_vocabularies

        views = vocabularies_of(names)
        return cls(names, learn_vocabularies(sources, views, seed=seed, cache=cache, n_jobs=n_jobs))

    def describe(
        self,
        sources: Sequence[Source],
        *,
        cache: FeatureCache | None = None,
        n_jobs: int | None = None,
        given_up: Callable[[], bool] = lambda: False,
    ) -> Described:
        """The views of the pictures that can be read, and why the others cannot.

        n_jobs : processes, or None for one per core; a few pictures are described in this one
        given_up : whether nobody wants them any more, asked between two pictures; GivenUpError then
        """
        _check_packages()
        with ProgressBar("features", len(sources)) as progress:
            return self._described(sources, progress, cache, n_jobs, given_up)

    def stream(self, sources: Sequence[Source], *, cache: FeatureCache | None = None) -> Iterator[Described]:
        """What `describe` gives, a few dozen pictures at a time and in their order: for folders of any size.

        Positions are those among all sources.
        """
        _check_packages()
        with ProgressBar("features", len(sources)) as progress:
            for start in range(0, len(sources), AT_ONCE):
                part = self._described(sources[start : start + AT_ONCE], progress, cache)
                progress.pause()
                unreadable = {start + position: reason for position, reason in part.unreadable.items()}
                yield Described(part.views, start + part.kept, unreadable)

    def _described(
        self,
        sources: Sequence[Source],
        progress: ProgressBar,
        cache: FeatureCache | None,
        n_jobs: int | None = None,
        given_up: Callable[[], bool] = lambda: False,
    ) -> Described:
        from gramless.pictures.features.handcrafted import handcrafted_views

        recipes = {name: recipe(name, self.words.get(words_of(name) or "")) for name in self.names}
        describe = partial(handcrafted_views, words=self.words)
        rows = compute_rows(
            sources, recipes, describe, progress=progress, cache=cache, n_jobs=n_jobs, given_up=given_up
        )
        kept = np.setdiff1d(np.arange(len(sources)), list(rows.unreadable))
        views = None
        if len(kept):
            blocks = {}
            for name in self.names:
                found = rows.found.pop(name)  # little is in memory twice
                blocks[name] = np.stack([found[position] for position in kept.tolist()])
            views = Views(blocks)
        return Described(views, kept, dict(sorted(rows.unreadable.items())))


def _check_packages() -> None:
    for module in ("cv2", "PIL"):
        needed(module)
