"""The pictures that a model was taught on, as far as it remembers them: names, keywords, thumbnails, vectors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from gramless.errors import DataError
from gramless.support.checks import check_array


class Neighbour(NamedTuple):
    """A training picture, and the cosine between its vector and that of the picture that was asked about."""

    name: str
    similarity: float
    keywords: tuple[str, ...]
    thumbnail: bytes  # JPEG


@dataclass(frozen=True, eq=False)
class Album:
    """Row i of everything is training picture i.

    The vectors are those of the deep map, so that one matrix product gives all similarities under the learned kernel,
    and classifiers can be learned on them anew; half precision is enough for both.
    """

    names: tuple[str, ...]
    labels: np.ndarray  # (n, n_keywords) int8
    vectors: np.ndarray  # (n, n_components) float16
    jpegs: np.ndarray  # (n_bytes,) uint8: all thumbnails, one after the other
    ends: np.ndarray  # (n,) int64: where each of them ends

    def __post_init__(self) -> None:
        check_array("the labels of an album", self.labels, (len(self.names), None), kinds="i", least=0)
        check_array("the vectors of an album", self.vectors, (len(self.names), None))
        check_array("the thumbnails of an album", self.jpegs, (None,), kinds="u")
        check_array("the ends of thumbnails", self.ends, (len(self.names),), kinds="i", least=0)
        if self.jpegs.itemsize != 1 or (np.diff(self.ends, prepend=0, append=len(self.jpegs)) < 0).any():
            raise DataError("the ends of thumbnails must ascend, up to the last byte that there is.")

    @classmethod
    def of(cls, names: Sequence[str], labels: np.ndarray, phi: np.ndarray, thumbnails: Sequence[bytes]) -> Self:
        ends = np.cumsum([len(jpeg) for jpeg in thumbnails], dtype=np.int64)
        jpegs = np.frombuffer(b"".join(thumbnails), dtype=np.uint8)
        return cls(tuple(names), labels.astype(np.int8), phi.astype(np.float16), jpegs, ends)

    def __len__(self) -> int:
        return len(self.names)

    def nearest(self, phi: np.ndarray, n_neighbours: int, keywords: Sequence[str]) -> tuple[Neighbour, ...]:
        """The training pictures most similar to the one with the vector phi (n_components,), nearest first."""
        similarities = unit_rows(self.vectors) @ unit_rows(phi[None])[0]
        best = np.argsort(-similarities, kind="stable")[:n_neighbours]
        return tuple(
            Neighbour(
                self.names[i],
                float(np.clip(similarities[i], 0.0, 1.0)),
                tuple(itertools.compress(keywords, self.labels[i])),
                self.thumbnail(i),
            )
            for i in best
        )

    def thumbnail(self, i: int) -> bytes:
        start = self.ends[i - 1] if i else 0
        return self.jpegs[start : self.ends[i]].tobytes()


def unit_rows(phi: np.ndarray) -> np.ndarray:
    """Rows of length 1; a row of zeros stays one."""
    length = np.linalg.norm(phi.astype(np.float32), axis=1, keepdims=True)
    return phi.astype(np.float32) / np.maximum(length, np.finfo(np.float32).tiny)
