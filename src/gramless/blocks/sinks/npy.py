"""Rows in an array file of NumPy."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
from numpy.lib import format as npy_format

from gramless.blocks.sinks.base import RowForm, Sink

AT_ONCE = 1 << 30  # bytes; systems write at most 2 GiB in one call


class NpySink(Sink):
    """An array file whose header counts the complete rows; what comes after these is not part of the array.

    Data is appended and has reached the disk before the header is rewritten. All headers are of one length, as NumPy
    leaves room for the largest number of rows, and lie in one sector of the disk, so that a header is never half new.
    """

    reader = "np.load"

    def __init__(self, partial: Path, form: RowForm) -> None:
        self._data_starts = len(_header(form, 0))
        super().__init__(partial, form)
        self._taken = self.n_rows  # rows in the file, of which some may not have reached the disk

    def sync(self) -> None:
        if self._taken == self.n_rows:
            return
        # What an fsync that fails has done is unknown: the rows do not count, and the next run computes them again.
        taken, self._taken = self._taken, self.n_rows
        os.fsync(self._file.fileno())
        self._write(0, _header(self.form, taken))
        self.n_rows = self._taken = taken

    def read(self, first: int, last: int) -> np.ndarray:
        self._file.seek(self._end(first))
        found = np.frombuffer(self._file.read(self._end(last) - self._end(first)), dtype=self.form.dtype)
        return found.reshape(-1, *self.form.row_shape)

    @classmethod
    def could_have_written(cls, target: Path) -> bool:
        return target.is_file()

    def close(self) -> None:
        if not self._file.closed:
            self._file.truncate(self._end(self.n_rows))
        super().close()

    def _make(self) -> None:
        self.partial.touch()

    def _find_rows(self) -> int:
        self._file = self.partial.open("r+b", buffering=0)
        head = self._file.read(self._data_starts)
        # A file that ends within its header was stopped before it had any rows.
        n_rows = self._rows_of(head) if len(head) == self._data_starts else 0
        self._file.truncate(self._end(n_rows))
        self._write(0, _header(self.form, n_rows))
        return n_rows

    def _rows_of(self, head: bytes) -> int:
        try:
            file = io.BytesIO(head)
            npy_format.read_magic(file)
            shape, by_columns, dtype = npy_format.read_array_header_1_0(file)
        except ValueError as error:
            raise self._of_another_run("it is not an array file") from error
        expected = (*shape[:1], *self.form.row_shape)
        if not shape or shape != expected or by_columns or dtype != self.form.dtype:
            raise self._of_another_run(
                f"it holds {dtype} of shape {shape}, and rows of {self.form.dtype} and shape {self.form.row_shape} "
                "are to be written"
            )
        in_file = (self.partial.stat().st_size - self._data_starts) // self.form.row_bytes
        return int(min(shape[0], in_file))

    def _take(self, block: np.ndarray) -> None:
        self._write(self._end(self._taken), np.ascontiguousarray(block).data.cast("B"))
        self._taken += len(block)

    def _seal(self) -> None:
        os.fsync(self._file.fileno())
        self._file.close()

    def _discard(self) -> None:
        self._file.close()
        self.partial.unlink()

    def _release(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
        super()._release()

    def _end(self, n_rows: int) -> int:
        return self._data_starts + n_rows * self.form.row_bytes

    def _write(self, position: int, data: bytes | memoryview) -> None:
        self._file.seek(position)
        left = memoryview(data)
        while left:
            left = left[self._file.write(left[:AT_ONCE]) :]


def _header(form: RowForm, n_rows: int) -> bytes:
    file = io.BytesIO()
    entries = {
        "descr": npy_format.dtype_to_descr(form.dtype),
        "fortran_order": False,
        "shape": (n_rows, *form.row_shape),
    }
    npy_format.write_array_header_1_0(file, entries)
    return file.getvalue()
