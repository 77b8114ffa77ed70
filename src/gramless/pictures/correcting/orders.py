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

POOL = 8  # of so many times the pictures asked for, the most uncertain, the most different are taken
LEAST_POOL = 200


def uncertainty(probabilities: np.ndarray) -> np.ndarray:
    """The entropy of a picture's keywords in bits, summed over keywords: (n,).

    Each keyword is a coin of its own; one that is out of the question, or certain, adds nothing.
    """
    p = np.clip(probabilities.astype(np.float64), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))
    return np.nan_to_num(bits, nan=0.0).sum(1)


def which_next(probabilities: np.ndarray, vectors: np.ndarray, asked: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` pictures whose answers would teach most, in the order in which to ask.

    probabilities : (n, n_keywords) of the pictures that may be asked about
    vectors : (n, d), rows of length 1
    asked : (m, d), rows of length 1: pictures that were answered, which need not be asked about once more

    Greedily the largest product of uncertainty and distance to the nearest picture that was asked about or taken
    before: uncertain pictures only would be all of one kind, distant ones only would be the odd ones out.
    O(n n_keywords + pool count d).
    """
    bits = uncertainty(probabilities)
    size = min(len(bits), max(LEAST_POOL, POOL * count))
    pool = np.argsort(-bits, kind="stable")[:size]
    rows, bits = vectors[pool].astype(np.float32), bits[pool]
    distances = np.full(len(pool), 2.0)
    if len(asked):
        distances = np.minimum(distances, _distances(rows, asked.astype(np.float32)).min(1))
    chosen: list[int] = []
    left = np.ones(len(pool), dtype=bool)
    for _ in range(min(count, len(pool))):
        worth = np.where(left, bits * distances, -1.0)
        best = int(worth.argmax())
        chosen.append(best)
        left[best] = False
        distances = np.minimum(distances, _distances(rows, rows[best : best + 1])[:, 0])
    return pool[chosen]


def _distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1 - cosine, (len(a), len(b)); at least 0."""
    return np.maximum(1.0 - a @ b.T, 0.0)


ROWS_AT_ONCE = 1024
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
    asked, open_ = found.described[known], found.described[~known]
    if not len(open_):
        return Order(open_)
    best = which_next(found.probabilities[open_], found.directions(open_), found.directions(asked), N_NEXT)
    return Order(open_[best])


def with_keyword(folder: OpenFolder, keyword: str, least: float) -> Order:
    """Pictures that were said to have it, then those with at least that probability, the most probable first."""
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
