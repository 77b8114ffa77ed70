"""Rows in a folder of Parquet files; only what writes one imports this module."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet as pq

from gramless.blocks.sinks.base import RowForm, Sink
from gramless.support.atomic import TEMPORARY, write_atomically

PART_BYTES = 64 << 20


class ParquetSink(Sink):
    """A folder of files part-000000.parquet, ..., each with as many whole blocks as PART_BYTES hold, or with one.

    Their one column is "vectors", lists of fixed length, or "values" where a row is one number. Every file is written
    whole or not at all. The last one is written again, longer, until the next block does not fit in: how often the
    rows were brought to the disk does not show in the files. With six digits, the order of names is that of the rows
    up to 64 TiB.
    """

    reader = "pyarrow.dataset.dataset"

    def __init__(self, partial: Path, form: RowForm) -> None:
        self._starts = [0]  # of the parts, and of the one that grows
        self._blocks: list[np.ndarray] = []  # of the part that grows
        self._saved = True
        super().__init__(partial, form)

    def sync(self) -> None:
        if self._saved:
            return
        rows = np.concatenate(self._blocks)
        self._save(rows)
        self.n_rows = self._starts[-1] + len(rows)
        self._blocks, self._saved = [rows], True

    def read(self, first: int, last: int) -> np.ndarray:
        parts = [np.empty((0, *self.form.row_shape), self.form.dtype)]
        for number, (start, stop) in enumerate(pairwise([*self._starts, self.n_rows])):
            if max(first, start) < min(last, stop):
                parts.append(rows_of(self._path(number))[max(first - start, 0) : last - start])
        return np.concatenate(parts).astype(self.form.dtype, copy=False)

    @classmethod
    def could_have_written(cls, target: Path) -> bool:
        return target.is_dir() and all(is_part(entry) and _holds_rows(entry) for entry in target.iterdir())

    def _make(self) -> None:
        self.partial.mkdir(exist_ok=True)

    def _find_rows(self) -> int:
        found = sorted(self.partial.iterdir())
        for entry in found:
            if entry.name.startswith(TEMPORARY):  # begun when the run was stopped
                entry.unlink()
            elif not is_part(entry):
                raise self._of_another_run(f"it holds {entry.name}, which is no part of it")
        n_rows = 0
        while n := self._rows_in_part(len(self._starts) - 1):
            n_rows += n
            self._starts.append(n_rows)
        for entry in found:  # lost or cut off by a damaged disk, and what came after
            if is_part(entry) and entry.name >= self._path(len(self._starts) - 1).name:
                entry.unlink()
        if n_rows:
            self._starts.pop()
            self._blocks = [rows_of(self._path(len(self._starts) - 1)).astype(self.form.dtype, copy=False)]
        return n_rows

    def _rows_in_part(self, number: int) -> int:
        """How many rows it has; 0 where it is not there or not whole."""
        try:
            with pq.ParquetFile(self._path(number)) as file:
                schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
        except (OSError, pa.ArrowException):
            return 0
        expected = table_of(np.empty((0, *self.form.row_shape), self.form.dtype)).schema
        if not schema.equals(expected):
            raise self._of_another_run(f"it holds the columns {_told(schema)}, and {_told(expected)} is to be written")
        return n_rows

    def _take(self, block: np.ndarray) -> None:
        grown = sum(map(len, self._blocks)) + len(block)
        if self._blocks and grown > self.form.rows_in(PART_BYTES):
            self.sync()
            self._starts.append(self.n_rows)
            self._blocks = []
        self._blocks.append(block.copy())
        self._saved = False

    def _seal(self) -> None:
        if self.n_rows == 0:
            self._save(np.empty((0, *self.form.row_shape), self.form.dtype))

    def _discard(self) -> None:
        shutil.rmtree(self.partial)

    def _save(self, rows: np.ndarray) -> None:
        write_part(self._path(len(self._starts) - 1), rows)

    def _path(self, number: int) -> Path:
        return self.partial / part_name(number)


def part_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def write_part(path: Path, rows: np.ndarray) -> None:
    """Rows as a file, which is there whole or not at all, also after a power cut."""
    table = table_of(rows)
    write_atomically(path, lambda file: pq.write_table(table, file, use_dictionary=False, compression="none"))


def table_of(rows: np.ndarray) -> Any:
    """(n, width) as a column of lists, (n,) as one of numbers."""
    numbers = pa.array(np.ascontiguousarray(rows).ravel())
    if rows.ndim == 1:
        return pa.table({"values": numbers})
    return pa.table({"vectors": pa.FixedSizeListArray.from_arrays(numbers, rows.shape[1])})


def rows_of(part: Path) -> np.ndarray:
    column = pq.read_table(part).column(0).combine_chunks()
    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(-1, column.type.list_size)


def _told(schema: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def is_part(entry: Path) -> bool:
    return re.fullmatch(r"part-\d{6,}\.parquet", entry.name) is not None and entry.is_file()


def _holds_rows(part: Path) -> bool:
    try:
        names = pq.read_schema(part).names
    except (OSError, pa.ArrowException):
        return False
    return names in (["vectors"], ["values"])
