"""What a model says of the pictures in a folder: vectors that stay, and probabilities that a new model gives anew."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import numpy as np

from gramless.pictures.annotation import Annotator
from gramless.pictures.correcting.learning import directions

AT_ONCE = 4096  # pictures whose probabilities are computed in one go


class Progress(IntEnum):
    WAITING = 0
    DESCRIBED = 1
    UNREADABLE = 2


class Suggestions:
    """Row i of everything is picture i; rows of pictures that wait are zeros. Not locked: its owner does that."""

    def __init__(self, annotator: Annotator, n_pictures: int) -> None:
        width = annotator.classifier.map_network_.map_.n_components
        self.annotator = annotator
        self.centre = annotator.album.vectors.mean(0, dtype=np.float32)
        self.progress = np.zeros(n_pictures, dtype=np.int8)
        self.vectors = np.zeros((n_pictures, width), dtype=np.float16)
        self.reasons: dict[int, str] = {}
        self._turns = np.random.default_rng(0).permutation(n_pictures)
        self._start()

    def _start(self) -> None:
        shape = (len(self.progress), len(self.annotator.keywords))
        self.probabilities = np.zeros(shape, dtype=np.float32)
        self.chosen = np.zeros(shape, dtype=bool)

    @property
    def described(self) -> np.ndarray:
        """Positions of the pictures that have a vector."""
        return np.flatnonzero(self.progress == Progress.DESCRIBED)

    def describe(self, positions: np.ndarray, vectors: np.ndarray) -> None:
        self.vectors[positions] = vectors
        self.progress[positions] = Progress.DESCRIBED
        self._suggest(positions)

    def give_up(self, position: int, reason: str) -> None:
        self.progress[position] = Progress.UNREADABLE
        self.reasons[position] = reason

    def replace(self, annotator: Annotator) -> None:
        """Another model on the same map."""
        self.annotator = annotator
        self._start()
        for start in range(0, len(described := self.described), AT_ONCE):
            self._suggest(described[start : start + AT_ONCE])

    def directions(self, positions: np.ndarray) -> np.ndarray:
        """Vectors of length 1 in which pictures can be compared."""
        return directions(self.vectors[positions], self.centre)

    def waiting(self, first: Iterable[int], count: int) -> list[int]:
        """Positions to describe next: those in `first`, then some from all over the folder, typical of the rest."""
        wanted = [position for position in first if self.progress[position] == Progress.WAITING][:count]
        more = self._turns[self.progress[self._turns] == Progress.WAITING][: count + len(wanted)].tolist()
        return list(dict.fromkeys([*wanted, *more]))[:count]

    def _suggest(self, rows: np.ndarray) -> None:
        margins = self.annotator.classifier.head_.margins(self.vectors[rows].astype(np.float32))
        p = self.annotator.probabilities(margins)
        self.probabilities[rows] = p
        self.chosen[rows] = self.annotator.choose(p)
