"""Blocks of arrays on disk: NumPy memory maps, HDF5 data sets, Zarr arrays, or anything else with a shape and rows."""

from __future__ import annotations

import mmap
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gramless.blocks.base import Block, checked_block
from gramless.blocks.local import LocalBlocks, files_of, in_order, readers_at_once
from gramless.errors import DataError
from gramless.support.config import computes_on_gpu
from gramless.views import Columns, Layout, Views, is_multiview
from gramless.views.arrays import as_block

BLOCK_BYTES = 32 << 20  # of the features of one block
GPU_BLOCK_BYTES = 256 << 20  # where a GPU computes: what a block costs besides its rows counts for more
MOST_ROWS = 65_536  # of one block, whose vectors may be a hundred times as wide as its features


@dataclass(frozen=True, eq=False)
class ArrayBlocks(LocalBlocks):
    """Rows of arrays, so many at a time.

    arrays : views by name; or one array, under any name, whose columns are cut into views
    columns : then those of each view
    """

    arrays: Mapping[str, Any]
    columns: Columns | None
    rows_at_once: int
    chosen: Layout

    @classmethod
    def of(cls, data: Any, columns: Columns | None, rows_at_once: int | None) -> ArrayBlocks:
        arrays = named_arrays(data, columns)
        lengths = {name: array.shape[0] for name, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"views must describe the same samples, but their row counts differ: {lengths}.")
        return cls(arrays, columns, rows_at_once or _whole_chunks(arrays), layout_of(arrays, columns))

    @property
    def n_samples(self) -> int:
        return int(next(iter(self.arrays.values())).shape[0])

    @property
    def has_labels(self) -> bool:
        return False

    @property
    def reads_from(self) -> tuple[Path, ...]:
        return files_of(*self.arrays.values())

    def blocks(self, first_row: int = 0) -> Generator[Block]:
        first = first_row - first_row % self.rows_at_once
        starts = range(first, self.n_samples if first_row < self.n_samples else 0, self.rows_at_once)
        return in_order((partial(self._read, start, first_row) for start in starts), readers_at_once())

    def _read(self, start: int, first_row: int) -> Block:
        wanted = self.arrays if self.columns is not None else {name: self.arrays[name] for name in self.chosen}
        rows = slice(start, min(start + self.rows_at_once, self.n_samples))
        read = {name: read_rows(array, rows) for name, array in wanted.items()}
        data = read if self.columns is None else next(iter(read.values()))
        return checked_block(start, data, None, self.columns, self.chosen).from_row(first_row)


def named_arrays(data: Any, columns: Columns | None) -> dict[str, Any]:
    """Views by name, as Views names them."""
    if isinstance(data, Views):
        arrays = {name: data[name] for name in data.names}
    elif isinstance(data, Mapping):
        arrays = {str(name): array for name, array in data.items()}
    elif is_multiview(data):
        arrays = {f"view{i}": array for i, array in enumerate(data)}
    else:
        arrays = {"view0": data}
    if columns is not None and (isinstance(data, (Views, Mapping)) or len(arrays) > 1):
        raise DataError("views= cuts one array into views, but got several arrays. Give one or the other.")
    arrays = {name: _by_rows(name, array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if len(getattr(array, "shape", ())) != 2:
            raise DataError(
                f"view {name!r} must be an array with one row per sample and one column per feature, but is a "
                f"{type(array).__name__} of shape {getattr(array, 'shape', 'unknown')}."
            )
    if not arrays:
        raise DataError("got no views: give at least one array of features.")
    return arrays


def layout_of(arrays: Mapping[str, Any], columns: Columns | None) -> Layout:
    """View names and widths."""
    if columns is None:
        return {name: int(array.shape[1]) for name, array in arrays.items()}
    (width,) = (int(array.shape[1]) for array in arrays.values())
    return {view: _n_columns(view, chosen, width) for view, chosen in columns.items()}


def _n_columns(view: str, chosen: Any, width: int) -> int:
    try:
        return int(np.empty((0, width))[:, chosen].shape[1])
    except IndexError as error:
        raise DataError(f"view {view!r} asks for columns {chosen!r} of {width}: {error}.") from error


def _by_rows(name: str, array: Any) -> Any:
    """What rows can be taken of: the numbers of a table, a sparse matrix by rows, and arrays as they are."""
    if hasattr(array, "to_numpy"):
        return array.to_numpy()
    return as_block(name, array) if sparse.issparse(array) or isinstance(array, Tensor) else array


def read_rows(array: Any, rows: slice) -> Any:
    """Rows of an array, in memory; pages of a memory map are let go again once they are copied."""
    found = array[rows]
    if not isinstance(found, np.memmap):
        return found
    copied = _new_array(found)
    np.copyto(copied, found)
    if array.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):  # what was changed in a private map lives in its pages
        found._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
    return copied


def _new_array(like: np.ndarray) -> np.ndarray:
    """Memory for the same numbers, page-locked where a GPU is to take them: they are copied once on their way to it."""
    if not computes_on_gpu():
        return np.empty(like.shape, like.dtype)
    memory = torch.empty(like.nbytes, dtype=torch.uint8, pin_memory=True)
    return memory.numpy().view(like.dtype).reshape(like.shape)


def suitable_rows(row_bytes: int) -> int:
    """Of a block: as many as its bytes hold, at most MOST_ROWS and at least one."""
    block_bytes = GPU_BLOCK_BYTES if computes_on_gpu() else BLOCK_BYTES
    return max(1, min(MOST_ROWS, block_bytes // max(row_bytes, 1)))


def _whole_chunks(arrays: Mapping[str, Any]) -> int:
    """Rows that suit a block, in whole chunks where arrays are stored in chunks."""
    rows = suitable_rows(sum(array.shape[1] * array.dtype.itemsize for array in arrays.values()))
    chunk = max((chunks[0] for array in arrays.values() if (chunks := getattr(array, "chunks", None))), default=1)
    return rows - rows % chunk if rows > chunk else rows
