"""Some consecutive samples of data that comes in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramless.errors import DataError
from gramless.views import Columns, Layout, Views
from gramless.views.arrays import as_block


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
        inside = slice(row - self.start, None)
        return Block(row, self.views[inside], None if self.labels is None else self.labels[inside])


def checked_block(
    start: int, data: Any, labels: Any, columns: Columns | None = None, layout: Layout | None = None
) -> Block:
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
    labels = labels if hasattr(labels, "shape") else np.asarray(labels)
    if not labels.shape:
        raise DataError(
            f"labels={labels!s}: give an array with one row for each sample. With the path of a Parquet file in_blocks "
            "takes the names of label columns, and with an iterator of pairs True."
        )
    return labels


def label_array(labels: Any) -> np.ndarray:
    """Some rows of labels in memory: (n,), or (n, n_labels) with more than one column."""
    found = labels.toarray() if sparse.issparse(labels) else np.asarray(labels)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


@contextmanager
def told_with_place(start: int) -> Iterator[None]:
    """What is wrong with a block is told with the number of its first row."""
    try:
        yield
    except DataError as error:
        raise DataError(f"the block that starts at row {start:,}: {error}") from error
