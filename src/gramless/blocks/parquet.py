"""Blocks of Parquet files."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from gramless.blocks.arrays import suitable_rows
from gramless.blocks.base import Block, checked_block, told_with_place
from gramless.blocks.local import LocalBlocks, in_order, readers_at_once
from gramless.errors import DataError
from gramless.support.packages import needed
from gramless.views import Layout

ViewColumns = Mapping[str, Sequence[str]]
"""Views, and the table columns that belong to each: columns of numbers, or one column of lists of numbers."""


@dataclass(frozen=True, eq=False)
class ParquetBlocks(LocalBlocks):
    """Rows of a Parquet file, or of all in a folder, in the order of their names.

    views : the columns of each view
    label_columns : the columns of the labels; one for classes, several for an indicator matrix
    widths : how many features each column holds
    rows_at_once : at most so many rows make a block; it ends where a file or a row group of it ends
    """

    path: Path
    views: ViewColumns
    label_columns: tuple[str, ...]
    widths: Mapping[str, int]
    rows_at_once: int
    chosen: Layout

    @classmethod
    def of(cls, path: Path, labels: str | Sequence[str] | None, views: ViewColumns | None, rows: int | None) -> Self:
        schema = _dataset(path).schema
        label_columns = (labels,) if isinstance(labels, str) else tuple(labels or ())
        if views is None:
            views = {"view0": [name for name in schema.names if name not in label_columns]}
        views = {view: [names] if isinstance(names, str) else list(names) for view, names in views.items()}
        for name in (*label_columns, *(name for names in views.values() for name in names)):
            if name not in schema.names:
                raise DataError(f"{path} has no column {name!r}; its columns are {_listed(schema.names)}.")
        if not all(views.values()):
            raise DataError(f"{path} has no columns of features; its columns are {_listed(schema.names) or 'none'}.")
        widths = {name: _width(path, schema, name) for names in views.values() for name in names}
        layout = {view: sum(widths[name] for name in names) for view, names in views.items()}
        return cls(path, views, label_columns, widths, rows or suitable_rows(8 * sum(layout.values())), layout)

    @cached_property
    def n_samples(self) -> int:
        return int(_dataset(self.path).count_rows())

    @property
    def has_labels(self) -> bool:
        return bool(self.label_columns)

    @property
    def reads_from(self) -> tuple[Path, ...]:
        return (self.path,)

    def blocks(self, first_row: int = 0) -> Generator[Block]:
        batches = ((start, batch) for start, batch in self._batches(first_row) if start + batch.num_rows > first_row)
        tasks = (partial(self._block, start, batch, first_row) for start, batch in batches)
        return in_order(tasks, readers_at_once())

    def _batches(self, first_row: int) -> Iterator[tuple[int, Any]]:
        columns = [name for view in self.chosen for name in self.views[view]] + list(self.label_columns)
        start = 0
        for file in _dataset(self.path).get_fragments():
            n_rows = file.count_rows()
            if start + n_rows <= first_row:
                start += n_rows
                continue
            for batch in file.to_batches(columns=columns, batch_size=self.rows_at_once, batch_readahead=1):
                yield start, batch
                start += batch.num_rows

    def _block(self, start: int, batch: Any, first_row: int) -> Block:
        chosen = [(view, self.views[view]) for view in self.chosen]
        with told_with_place(start):
            read = {view: np.hstack([self._numbers(start, batch, name) for name in names]) for view, names in chosen}
        labels = [batch.column(name).to_numpy(zero_copy_only=False) for name in self.label_columns]
        stacked = None if not labels else labels[0] if len(labels) == 1 else np.column_stack(labels)
        return checked_block(start, read, stacked, None, self.chosen).from_row(first_row)

    def _numbers(self, start: int, batch: Any, name: str) -> np.ndarray:
        """(n, width); a null number becomes NaN, which is refused with its row, as a list of another length is here."""
        from pyarrow import compute

        column, width = batch.column(name), self.widths[name]
        if not hasattr(column, "flatten"):  # numbers
            return column.to_numpy(zero_copy_only=False)[:, None]
        lengths = compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != width)
        if len(wrong):
            raise DataError(
                f"column {name!r} has a list of {lengths[wrong[0]]:,} numbers at row {start + wrong[0]:,}, and one of "
                f"{width:,} in its first row. All must be of one length: complete or drop those rows."
            )
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), width)


def _dataset(path: Path) -> Any:
    needed("pyarrow")
    from pyarrow import ArrowException, dataset

    if not path.exists():
        raise DataError(f"there is no file or folder {path}. Check the path of the Parquet data.")
    try:
        return dataset.dataset(path, format="parquet")
    except (ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error


def _width(path: Path, schema: Any, name: str) -> int:
    """How many features a column holds: one, or those of a list."""
    from pyarrow import types

    kind = schema.field(name).type
    if types.is_fixed_size_list(kind):
        return int(kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind):
        found = _dataset(path).head(1, columns=[name]).column(name).to_pylist()
        if not found or not found[0]:
            raise DataError(
                f"column {name!r} of {path} has no list in its first row, so the length of its lists is unknown."
            )
        return len(found[0])
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return 1
    raise DataError(f"column {name!r} of {path} holds {kind}, and features are numbers or lists of numbers.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")
