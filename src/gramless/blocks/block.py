"""Some consecutive samples of data that comes in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramless.errors import DataError
from gramless.views import Columns, Layout, Views


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
    try:
        views = Views(data, columns, first_row=start)
        if layout is not None:
            views = views.match(layout)
        if labels is not None and len(labels) != len(views):
            raise DataError(f"it has {len(views):,} samples and {len(labels):,} labels. Give one label for each.")
    except DataError as error:
        raise DataError(f"the block that starts at row {start:,}: {error}") from error
    return Block(start, views, labels)
