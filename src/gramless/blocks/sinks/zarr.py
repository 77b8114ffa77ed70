"""Rows in a Zarr array; only what writes one imports this module."""

from __future__ import annotations

import asyncio
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.storage import LocalStore

from gramless.blocks.sinks.base import RowForm, Sink
from gramless.support.atomic import TEMPORARY, sync_folder, write_atomically

CHUNK_BYTES = 16 << 20
HELD_BYTES = 32 << 20  # rows in memory before they are written, so that most chunks are written once
METADATA = "zarr.json"


class ZarrSink(Sink):
    """A folder with one file for each chunk of rows, and one that says how many rows are complete: the array's shape.

    Chunks reach the disk before the shape says that they are there. They are not compressed: random-looking floats
    would shrink by a few percent only, and so the size of a chunk's file tells whether it is whole.
    """

    reader = "zarr.open_array"

    def __init__(self, partial: Path, form: RowForm) -> None:
        most = form.rows_in(CHUNK_BYTES)
        self._chunk_rows = most if form.n_rows is None else max(1, min(most, form.n_rows))
        super().__init__(partial, form)
        self._held: list[np.ndarray] = []
        self._held_bytes = 0

    def sync(self) -> None:
        if not self._held:
            return
        rows = np.concatenate(self._held)
        last = self.n_rows + len(rows)
        grown = _grown(self._array, last)
        # One chunk at a time: of several at once, some would go on being written after another has failed.
        edges = range(self.n_rows - self.n_rows % self._chunk_rows, last, self._chunk_rows)
        for first, stop in pairwise([self.n_rows, *edges[1:], last]):
            grown[first:stop] = rows[first - self.n_rows : stop - self.n_rows]
        self._array.resize((last, *self.form.row_shape))
        self._held, self._held_bytes = [], 0
        self.n_rows = last

    def read(self, first: int, last: int) -> np.ndarray:
        return np.asarray(self._array[first:last])

    @classmethod
    def could_have_written(cls, target: Path) -> bool:
        # A Zarr group has folders within.
        return (target / METADATA).is_file() and not any(entry.is_dir() for entry in target.iterdir())

    def _make(self) -> None:
        self.partial.mkdir(exist_ok=True)

    def _find_rows(self) -> int:
        found = list(self.partial.iterdir())
        if not all(_is_ours(entry.name) for entry in found):
            raise self._of_another_run("it holds files that are not those of a Zarr array of rows")
        for entry in found:
            if entry.name.startswith(TEMPORARY):  # begun when the run was stopped
                entry.unlink()
        store = _DurableStore(self.partial)
        self._array = self._opened(store) if (self.partial / METADATA).exists() else self._created(store)
        n_rows = self._whole_rows(int(self._array.shape[0]))
        if n_rows < self._array.shape[0]:
            self._array.resize((n_rows, *self.form.row_shape))
        return n_rows

    def _created(self, store: LocalStore) -> Any:
        return zarr.create_array(
            store,
            shape=(0, *self.form.row_shape),
            chunks=(self._chunk_rows, *self.form.row_shape),
            dtype=self.form.dtype,
            fill_value=self.form.dtype.type(0),
            compressors=None,
            chunk_key_encoding={"name": "default", "separator": "."},
        )

    def _opened(self, store: LocalStore) -> Any:
        try:
            array = zarr.open_array(store, mode="r+")
        except (ValueError, KeyError, TypeError) as error:
            raise self._of_another_run(f"it is not a Zarr array ({error})") from error
        expected = (self._chunk_rows, *self.form.row_shape)
        if array.shape[1:] != self.form.row_shape or array.dtype != self.form.dtype or array.chunks != expected:
            raise self._of_another_run(
                f"it holds {array.dtype} of shape {array.shape} in chunks of {array.chunks}, and rows of "
                f"{self.form.dtype} and shape {self.form.row_shape} in chunks of {expected} are to be written"
            )
        return array

    def _whole_rows(self, n_rows: int) -> int:
        """Without the chunks at the end that a damaged disk has lost or cut off."""
        while n_rows and not self._is_whole((n_rows - 1) // self._chunk_rows):
            n_rows = (n_rows - 1) // self._chunk_rows * self._chunk_rows
        return n_rows

    def _is_whole(self, chunk: int) -> bool:
        file = self.partial / ".".join(["c", str(chunk), *("0" for _ in self.form.row_shape)])
        return file.is_file() and file.stat().st_size == self._chunk_rows * self.form.row_bytes

    def _take(self, block: np.ndarray) -> None:
        self._held.append(block.copy())
        self._held_bytes += block.nbytes
        if self._held_bytes >= HELD_BYTES:
            self.sync()

    def _seal(self) -> None:
        sync_folder(self.partial)

    def _discard(self) -> None:
        shutil.rmtree(self.partial)


class _DurableStore(LocalStore):
    """Files that have reached the disk, whole, when they are written. Zarr writes by either of these two ways."""

    async def set(self, key: str, value: Any) -> None:
        await asyncio.to_thread(self.set_sync, key, value)

    def set_sync(self, key: str, value: Any) -> None:
        write_atomically(self.root / key, lambda file: file.write(value.to_bytes()))


def _grown(array: Any, n_rows: int) -> Any:
    """The array with so many rows, for writing; on disk it still has the rows that it had."""
    metadata = array.metadata.update_shape((n_rows, *array.shape[1:]))
    return zarr.Array(zarr.AsyncArray(metadata, array.store_path, config={"write_empty_chunks": True}))


def _is_ours(name: str) -> bool:
    return name.startswith(("c.", TEMPORARY)) or name == METADATA
