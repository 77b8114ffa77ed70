"""Data that is too large for memory: blocks of samples, of which a few are held at a time, and a sample of them.

The sample is uniform, drawn in one pass, and adds up over blocks. Every row has a random key, a hash of its number, and
the rows with the smallest keys are the sample: uniform without replacement, like a reservoir, but whatever the order in
which rows come. On request the rows with the smallest keys of every label are added, so that rare ones are there too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse

from gramless.errors import DataError
from gramless.views import Columns, Layout, Views, check_layout
from gramless.views.arrays import as_block, refuse_masked


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive samples.

    start : the number of the first of them among all
    labels : (n,), (n, n_labels), or None where the data has none
    """

    start: int
    views: Views
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.views)

    @property
    def stop(self) -> int:
        return self.start + len(self)

    def from_row(self, row: int) -> Block:
        """The samples from that number on."""
        if row <= self.start:
            return self
        return self.part(slice(row - self.start, None), row)

    def part(self, rows: Any, start: int = 0) -> Block:
        """Some of the samples. By their numbers they are copies, so that the memory of the block is not held."""
        return Block(start, self.views[rows], None if self.labels is None else self.labels[rows])


def checked_block(start: int, data: Any, labels: Any, columns: Columns | None, layout: Layout | None) -> Block:
    """A block of what was read; what is wrong with it is told with its place.

    columns : with one array, those of each view
    layout : what the blocks before had, or what a fitted network knows
    """
    with told_with_place(start):
        views = Views(data, columns, first_row=start)
        if layout is not None:
            views = views.match(layout)
        known = None if labels is None else label_array(labels)
        if known is not None and len(known) != len(views):
            raise DataError(f"it has {len(views):,} samples and {len(known):,} labels. Give one label for each.")
    return Block(start, views, known)


def with_rows(labels: Any) -> Any:
    """Labels of all samples, in or out of memory, of which some rows can be taken."""
    if sparse.issparse(labels):
        return as_block("labels", labels)
    labels = labels if hasattr(labels, "shape") else _listed(labels)
    if not labels.shape:
        raise DataError(
            f"labels={labels!s}: give an array with one row for each sample. With the path of a Parquet file in_blocks "
            "takes the names of label columns, and with an iterator of pairs True."
        )
    return labels


def _listed(labels: Any) -> np.ndarray:
    """Labels of a list; NumPy would make texts of all where some are, and nobody could refuse them any more."""
    found, objects = np.asarray(labels), np.asarray(labels, dtype=object)
    mixed = found.dtype.kind in "US" and not all(isinstance(label, (str, bytes)) for label in objects.flat)
    return objects if mixed else found


def label_array(labels: Any) -> np.ndarray:
    """Some rows of labels in memory: (n,), or (n, n_labels) with more than one column."""
    refuse_masked("the array of labels", labels)
    rows = with_rows(labels)
    found = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


@contextmanager
def told_with_place(start: int) -> Iterator[None]:
    """What is wrong with a block is told with the number of its first row."""
    try:
        yield
    except DataError as error:
        raise DataError(f"the block that starts at row {start:,}: {error}") from error


KEYS = 2**64
SLACK = 8.0  # standard deviations by which more rows pass than are wanted


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows with the smallest keys of those that were looked at.

    Parts of single blocks are collected and now and then thinned out, so that adding a block copies few rows.
    """

    size: int  # rows that are wanted
    of_each: int  # rows that every label is to have at least, if it has as many; the sample may be larger for it
    keys: np.ndarray  # (n,) uint64
    rows: np.ndarray  # (n,): their numbers
    parts: tuple[Block, ...]  # their samples, in the same order

    @property
    def views(self) -> Views:
        return Views.stacked([part.views for part in self.parts])

    @property
    def labels(self) -> np.ndarray | None:
        found = [part.labels for part in self.parts if part.labels is not None]
        return np.concatenate(found) if found else None

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: Sample) -> Sample:
        both = Sample(
            self.size,
            self.of_each,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.rows, other.rows]),
            self.parts + other.parts,
        )
        return both._thinned() if len(both) >= 2 * self.size else both

    def sorted(self) -> Sample:
        """The sample itself, in the order of the data."""
        chosen = self._thinned() if len(self) > self.size else self
        return chosen._taken(np.argsort(chosen.rows))

    def _thinned(self) -> Sample:
        return self._taken(_smallest(self.keys, self.size, self.labels, self.of_each))

    def _taken(self, places: np.ndarray) -> Sample:
        part = Block(0, self.views, self.labels).part(places)
        return Sample(self.size, self.of_each, self.keys[places], self.rows[places], (part,))


def draw(size: int, seed: int, n_samples: int | None, of_each: int = 0) -> Callable[[Block], Sample]:
    """What a block contributes to a sample of that size, and of at least so many rows with each label.

    Where the number of all samples is known, rows that stand no chance are left behind at once: size + SLACK sqrt(size)
    rows pass on average, and fewer than size with a probability of 1e-14.
    """
    if size < 1:
        raise ValueError(f"a sample has at least one row, not {size}.")
    share = 1.0 if n_samples is None else min(1.0, (size + SLACK * size**0.5 + SLACK**2) / max(n_samples, 1))
    return partial(_contribution, size=size, seed=seed, limit=min(KEYS - 1, int(share * KEYS)), of_each=of_each)


def row_keys(rows: np.ndarray, seed: int) -> np.ndarray:
    """A random number of 64 bits for every row number: (n,) uint64, by the SplitMix64 generator's mixing function."""
    with np.errstate(over="ignore"):
        mixed = _mixed(rows.astype(np.uint64) + np.uint64(1), np.uint64(0))
        return _mixed(mixed, _mixed(np.array([seed], dtype=np.uint64), np.uint64(0))[0])


def _mixed(numbers: np.ndarray, offset: np.uint64) -> np.ndarray:
    z = numbers * np.uint64(0x9E3779B97F4A7C15) + offset
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _contribution(block: Block, *, size: int, seed: int, limit: int, of_each: int) -> Sample:
    rows = np.arange(block.start, block.stop)
    keys = row_keys(rows, seed)
    chosen = _smallest(keys, min(size, int((keys <= np.uint64(limit)).sum())), block.labels, of_each)
    return Sample(size, of_each, keys[chosen], rows[chosen], (block.part(chosen),))


def _smallest(keys: np.ndarray, size: int, labels: np.ndarray | None, of_each: int) -> np.ndarray:
    """Places, in order, of the smallest keys, and of the smallest of every label."""
    kept = np.zeros(len(keys), dtype=bool)
    kept[np.argsort(keys)[:size]] = True
    if of_each and labels is not None:
        for members in _with_each(labels):
            kept[members[np.argsort(keys[members])[:of_each]]] = True
    return np.flatnonzero(kept)


def _with_each(labels: np.ndarray) -> list[np.ndarray]:
    """The places of the samples with each label; classes (n,), or an indicator (n, n_labels)."""
    if labels.ndim == 2:
        return [np.flatnonzero(column > 0) for column in labels.T]
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])


class Addable(Protocol):
    """What adds up over blocks."""

    def __add__(self, other: Any, /) -> Any: ...


Sum = TypeVar("Sum", bound=Addable)


class Blocks(ABC):
    """Samples in blocks, here or on many machines: each pass over them reads everything once.

    Whatever is computed from them is either one array row per sample (`mapped`) or something that adds up over blocks
    (`total`); both take a function of one block, which runs where the block is. The functions must be pure, because a
    block may be computed twice, and picklable, because it may be computed elsewhere.
    """

    chosen: Layout  # the views that are wanted

    @property
    def layout(self) -> Layout:
        """View names and their widths."""
        return self.chosen

    @property
    @abstractmethod
    def n_samples(self) -> int | None:
        """How many samples there are; None where only a pass can tell."""

    @property
    @abstractmethod
    def has_labels(self) -> bool:
        """Whether labels come with the samples."""

    @abstractmethod
    def with_labels(self, labels: Any) -> Blocks:
        """The same samples with these labels: one row for each sample."""

    def match(self, layout: Layout) -> Self:
        """The views that a fitted network knows, in its order; an error that names what is missing or too wide."""
        check_layout(self.layout, layout)
        return replace(self, chosen=layout)  # type: ignore[type-var]  # sources are dataclasses

    @abstractmethod
    def total(self, function: Callable[[Block], Sum], what: str) -> Sum:
        """The sum of function(block) over all blocks. what : what is done, for the progress bar"""

    @abstractmethod
    def mapped(self, function: Callable[[Block], np.ndarray], width: int | None, dtype: Any, what: str) -> Any:
        """function(block), one row per sample, of all blocks, computed when it is asked for.

        width : columns of the result, None where it has one number per sample
        """

    def sample(self, size: int, seed: int) -> Sample:
        """So many samples drawn at random without replacement, in one pass; all, where there are no more.

        The draw depends on the seed and on the data's row numbers alone: however the data is cut into blocks, and
        wherever they are, it is the same.
        """
        return self.total(draw(size, seed, self.n_samples), "drawing a sample").sorted()
