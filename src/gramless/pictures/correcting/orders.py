"""Which pictures of a folder are shown, in which order: to ask about, by keyword, like another one, duplicates."""

from __future__ import annotations

import io
import secrets
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from threading import Lock

import numpy as np

from gramless.errors import DataError
from gramless.pictures.correcting.open_folder import OpenFolder
from gramless.pictures.correcting.suggestions import Progress
from gramless.pictures.features import PictureError
from gramless.support.packages import needed

ROWS_AT_ONCE = 1024
MOST_COMPARED = 2000  # pictures that stand for a large folder where it is asked which ones teach most


def which_next(vectors: np.ndarray, asked: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` pictures whose answers would teach most, in the order in which to ask.

    vectors : (n, d), of the pictures that may be asked about
    asked : (m, d): pictures of which all is known, which need not be asked about once more

    An answer teaches about the pictures that are like it. So of every picture counts the squared distance to the
    nearest one that was asked about or taken before, and greedily that picture is taken which lessens the sum over all
    of them most. Uncertain ones, or uncertain ones far from others, teach little but about themselves and do worse than
    chance (docs/annotation.md). Of a large folder 2,000 pictures stand for all, and those to ask about are among them:
    O(2,000 (2,000 + m) d + count 2,000^2), and O(n log n) to find these 2,000.
    """
    rows = _spread(vectors, max(MOST_COMPARED, count))
    compared = vectors[rows].astype(np.float32)
    between = _squared_distances(compared, compared)
    # Where nothing is known the farthest picture that there is stands for what was asked about.
    nearest = np.full(len(rows), np.inf if len(asked) else between.max(initial=0.0), dtype=np.float32)
    for start in range(0, len(asked), ROWS_AT_ONCE):
        near = _squared_distances(compared, asked[start : start + ROWS_AT_ONCE].astype(np.float32))
        nearest = np.minimum(nearest, near.min(1))
    left = np.ones(len(rows), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(count, len(rows))):
        worth = np.maximum(nearest - between, 0.0).sum(1)
        best = int(np.where(left, worth, -1.0).argmax())
        chosen.append(best)
        left[best] = False
        nearest = np.minimum(nearest, between[best])
    return rows[chosen]


def _spread(vectors: np.ndarray, size: int) -> np.ndarray:
    """Positions of `size` rows at most, at equal steps through all in the order of their first numbers.

    By what pictures show, so that names and order of files do not matter.
    """
    if len(vectors) <= size:
        return np.arange(len(vectors))
    steps = np.linspace(0, len(vectors) - 1, size).round().astype(int)
    return np.lexsort(vectors[:, 2::-1].T)[steps]


def _squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(len(a), len(b)); at least 0."""
    return np.maximum((a * a).sum(1)[:, None] + (b * b).sum(1) - 2.0 * (a @ b.T), 0.0)


OUTLINE_SIDE = 8  # enough to tell pictures of one kind apart, and too little to mind a slight crop
SAME_OUTLINE = 0.85  # cosine; 1 in 1,000 pairs of different drawn scenes has more, 1 in 20 slightly cropped ones less


def most_alike(vectors: np.ndarray, position: int) -> tuple[np.ndarray, np.ndarray]:
    """All positions by their cosine with one picture, itself first, and those cosines; vectors (n, d) of length 1."""
    cosines = vectors @ vectors[position]
    cosines[position] = np.inf  # a duplicate may be as near as the picture itself
    order = np.argsort(-cosines, kind="stable")
    cosines[position] = 1.0
    return order, cosines[order]


def outline(jpeg: bytes) -> np.ndarray:
    """How grey levels rise and fall over a picture, coarsely: of length 1, or zeros for a picture of one grey.

    The vectors of the map say what a picture shows, not where: two boats on a sea are alike. Outlines tell them apart.
    """
    image = needed("PIL.Image")
    small = image.open(io.BytesIO(jpeg)).convert("L").resize((OUTLINE_SIDE, OUTLINE_SIDE), image.Resampling.BOX)
    grey = np.asarray(small, dtype=np.float64)
    slopes = np.concatenate([np.diff(grey, axis=1).ravel(), np.diff(grey, axis=0).ravel()])
    return slopes / max(float(np.linalg.norm(slopes)), 1.0)


def near_duplicates(vectors: np.ndarray, least: float, is_same: Callable[[int, int], bool]) -> list[np.ndarray]:
    """Groups of at least two pictures, each the same as another one of its group; largest first.

    Vectors (n, d) of length 1. All pairs are compared, half a matrix product of n x d by d x n, a block at a time;
    of those with a cosine of at least `least`, `is_same` says whether they are the same.
    """
    parent = np.arange(len(vectors))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = int(parent[i])
        return i

    for start in range(0, len(vectors), ROWS_AT_ONCE):
        near = vectors[start : start + ROWS_AT_ONCE] @ vectors[start:].T >= least
        for i, j in zip(*np.nonzero(np.triu(near, 1)), strict=True):
            a, b = root(start + int(i)), root(start + int(j))
            if a != b and is_same(start + int(i), start + int(j)):
                parent[max(a, b)] = min(a, b)
    groups = defaultdict(list)
    for i in range(len(vectors)):
        groups[root(i)].append(i)
    found = [np.array(group) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group[0]))


N_NEXT = 60  # pictures that are proposed at a time
MOST_ALIKE = 1000
MOST_KEPT = 32  # orders that pages are still asked of


@dataclass(frozen=True, eq=False)
class Order:
    """Positions of pictures, and by each why it stands there: a probability, a likeness, a group; or nothing."""

    positions: np.ndarray
    values: np.ndarray | None = None


def every_picture(folder: OpenFolder) -> Order:
    return Order(np.arange(len(folder.listing.paths)))


def answered(folder: OpenFolder) -> Order:
    """The last one first."""
    return Order(np.array(folder.spoken_of()[::-1], dtype=int))


def unanswered(folder: OpenFolder) -> Order:
    folder.spoken_of()
    return Order(np.array([i for i in range(len(folder.listing.paths)) if not folder.is_known(i)], dtype=int))


def unreadable(folder: OpenFolder) -> Order:
    return Order(np.flatnonzero(folder.suggestions.progress == Progress.UNREADABLE))


def to_ask_next(folder: OpenFolder) -> Order:
    """Those whose answers would teach most."""
    folder.spoken_of()
    found = folder.suggestions
    known = np.array([folder.is_known(i) for i in found.described], dtype=bool)
    open_ = found.described[~known]
    asked = np.vstack([found.annotator.album.vectors, found.vectors[found.described[known]]])
    return Order(open_[which_next(found.vectors[open_], asked, N_NEXT)])


def with_keyword(folder: OpenFolder, keyword: str, least: float) -> Order:
    """Pictures that were said to have it, then those with at least that probability, the most probable first."""
    keyword = folder.known_as(keyword)
    found, spoken = folder.suggestions, {i: folder.said(i) for i in folder.spoken_of()}
    spoken |= {i: folder.said(i) for i in folder.training}
    p = np.full(len(found.progress), -1.0)
    if keyword in folder.keywords:
        p[found.described] = found.probabilities[found.described, folder.keywords.index(keyword)]
    for i, answers in spoken.items():
        p[i] = 2.0 if answers.get(keyword) else -1.0 if keyword in answers or "" in answers else p[i]
    order = np.argsort(-p, kind="stable")
    order = order[p[order] >= least]
    return Order(order, np.minimum(p[order], 1.0))


def like(folder: OpenFolder, position: int) -> Order:
    """All pictures by their likeness to one, itself first."""
    described = folder.suggestions.described
    (here,) = np.nonzero(described == position)
    if not len(here):
        raise DataError("this picture is not described yet, so nothing can be compared with it. Wait a little.")
    order, cosines = most_alike(folder.suggestions.directions(described), int(here[0]))
    return Order(described[order[:MOST_ALIKE]], cosines[:MOST_ALIKE])


def duplicates(folder: OpenFolder, least: float) -> Order:
    """Groups of pictures that are nearly the same, one after the other; the value is the number of the group."""
    described = folder.suggestions.described

    @cache
    def outline_of(i: int) -> np.ndarray | None:
        try:
            return outline(folder.thumbnail(int(described[i])))
        except PictureError:  # gone since it was described
            return None

    def is_same(i: int, j: int) -> bool:
        a, b = outline_of(i), outline_of(j)
        return a is not None and b is not None and float(a @ b) >= SAME_OUTLINE

    groups = near_duplicates(folder.suggestions.directions(described), least, is_same)
    if not groups:
        return Order(np.zeros(0, dtype=int))
    numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return Order(described[np.concatenate(groups)], numbers)


class KeptOrders:
    """Orders by number, so that a page that is scrolled through does not change under the reader."""

    def __init__(self) -> None:
        self._orders: OrderedDict[int, Order] = OrderedDict()
        self._turn = Lock()

    def keep(self, order: Order) -> int:
        number = secrets.randbits(50)  # not one that a page knows from a server that was here before
        with self._turn:
            self._orders[number] = order
            while len(self._orders) > MOST_KEPT:
                self._orders.popitem(last=False)
        return number

    def find(self, number: int) -> Order | None:
        with self._turn:
            if number in self._orders:
                self._orders.move_to_end(number)
            return self._orders.get(number)
