"""In which order the pictures of a folder are shown, and which of them."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from threading import Lock

import numpy as np

from gramless.errors import DataError
from gramless.pictures.correcting.choosing import which_next
from gramless.pictures.correcting.finding import SAME_OUTLINE, most_alike, near_duplicates, outline
from gramless.pictures.correcting.open_folder import OpenFolder
from gramless.pictures.correcting.suggestions import Progress
from gramless.pictures.features import PictureError

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
