"""The three forms in which rows lie on disk: array files of NumPy, Zarr arrays, folders of Parquet files.

Each class has rows at a path, to which pieces are appended: all of `layout.piece_rows` rows, but for the last.

could_be(target) : whether what is there looks like rows, and nothing else is lost if it is replaced
open(n_rows) : make it, or cut it down to its first rows, so many that are there
append(piece) : which has reached the disk when this returns
read(first, last) : rows first to last - 1
close(n_rows) : all so many are there

Zarr and PyArrow are imported by what uses them: not everybody has them.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from gramless.errors import DataError
from gramless.support.atomic import TEMPORARY, write_atomically
from gramless.support.packages import needed

PIECE_BYTES = 32 << 20
PIECE_ROWS = 1 << 16  # seconds of work, however narrow the rows are


@dataclass(frozen=True)
class RowLayout:
    """shape : of one row, () where it is one number; n_rows : None where nobody knows yet how many there will be."""

    shape: tuple[int, ...]
    dtype: np.dtype
    n_rows: int | None = None

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * int(np.prod(self.shape))

    @property
    def piece_rows(self) -> int:
        """Rows that are written at once. It depends on nothing else: how often a run was stopped does not show."""
        most = min(PIECE_ROWS, PIECE_BYTES // max(1, self.row_bytes))
        return max(1, most if self.n_rows is None else min(most, self.n_rows))

    def empty(self, n_rows: int) -> np.ndarray:
        return np.empty((n_rows, *self.shape), self.dtype)

    def __str__(self) -> str:
        return f"rows of {self.dtype} and shape {self.shape} in pieces of {self.piece_rows:,}"


class NpyFile:
    """The header, which counts the rows, is written last: headers are of one length, whatever they count."""

    def __init__(self, path: Path, layout: RowLayout) -> None:
        self.path, self.layout = path, layout

    @staticmethod
    def could_be(target: Path) -> bool:
        return target.is_file()

    def open(self, n_rows: int) -> None:
        with self.path.open("r+b" if n_rows else "wb") as file:
            file.write(self._header(0))
            file.truncate(self._end(n_rows))

    def append(self, piece: np.ndarray) -> None:
        self._write("ab", np.ascontiguousarray(piece).data)

    def read(self, first: int, last: int) -> np.ndarray:
        count = (last - first) * int(np.prod(self.layout.shape))
        return np.fromfile(self.path, self.layout.dtype, count, offset=self._end(first)).reshape(-1, *self.layout.shape)

    def close(self, n_rows: int) -> None:
        self._write("r+b", self._header(n_rows))

    def _write(self, mode: str, data: bytes | memoryview) -> None:
        with self.path.open(mode) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _end(self, n_rows: int) -> int:
        return len(self._header(0)) + n_rows * self.layout.row_bytes

    def _header(self, n_rows: int) -> bytes:
        file, descr = io.BytesIO(), npy_format.dtype_to_descr(self.layout.dtype)
        shape = (n_rows, *self.layout.shape)
        npy_format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
        return file.getvalue()


class ZarrArray:
    """One chunk, and so one file, for each piece, not compressed: floats would shrink by a few percent only."""

    def __init__(self, path: Path, layout: RowLayout) -> None:
        self.path, self.layout = path, layout

    @staticmethod
    def could_be(target: Path) -> bool:
        # A Zarr group has folders within.
        return (target / "zarr.json").is_file() and not any(entry.is_dir() for entry in target.iterdir())

    def open(self, n_rows: int) -> None:
        import zarr

        if n_rows:
            self._array = zarr.open_array(_durable_store(self.path), mode="r+")
            self._array.resize((n_rows, *self.layout.shape))
            return
        shutil.rmtree(self.path, ignore_errors=True)
        self._array = zarr.create_array(
            _durable_store(self.path),
            shape=(0, *self.layout.shape),
            chunks=(self.layout.piece_rows, *self.layout.shape),
            dtype=self.layout.dtype,
            fill_value=self.layout.dtype.type(0),
            compressors=None,
            chunk_key_encoding={"name": "default", "separator": "."},
        )

    def append(self, piece: np.ndarray) -> None:
        self._array.append(piece)

    def read(self, first: int, last: int) -> np.ndarray:
        return np.asarray(self._array[first:last])

    def close(self, n_rows: int) -> None:
        """Its shape says it already."""


def _durable_store(folder: Path) -> Any:
    """Zarr's store of local files, which have reached the disk, whole, when they are written."""
    from zarr.storage import LocalStore

    class DurableStore(LocalStore):  # Zarr writes by either of these two ways
        async def set(self, key: str, value: Any) -> None:
            await asyncio.to_thread(self.set_sync, key, value)

        def set_sync(self, key: str, value: Any) -> None:
            write_atomically(self.root / key, lambda file: file.write(value.to_bytes()))

    folder.mkdir(exist_ok=True)
    return DurableStore(folder)


class ParquetFolder:
    """Files part-000000.parquet, ..., one for each piece: up to 32 TiB, the order of names is that of the rows.

    Their one column is "vectors", lists of fixed length, or "values" where a row is one number.
    """

    def __init__(self, path: Path, layout: RowLayout) -> None:
        self.path, self.layout = path, layout

    @staticmethod
    def could_be(target: Path) -> bool:
        return target.is_dir() and all(map(_is_part, target.iterdir()))

    def open(self, n_rows: int) -> None:
        self.path.mkdir(exist_ok=True)
        self._n_parts = -(-n_rows // self.layout.piece_rows)
        for entry in self.path.iterdir():
            if entry.name.startswith(TEMPORARY) or entry.name >= part_name(self._n_parts):
                entry.unlink()

    def append(self, piece: np.ndarray) -> None:
        write_part(self.path / part_name(self._n_parts), piece)
        self._n_parts += 1

    def read(self, first: int, last: int) -> np.ndarray:
        size = self.layout.piece_rows
        touched = range(first // size, -(-last // size))
        parts = [rows_of(self.path / part_name(number)) for number in touched]
        return np.concatenate([self.layout.empty(0), *parts])[first - touched.start * size :][: last - first]

    def close(self, n_rows: int) -> None:
        if n_rows == 0:  # a file for the column's name and type
            self.append(self.layout.empty(0))


RowFile = NpyFile | ZarrArray | ParquetFolder


def format_of(path: Path) -> type[RowFile]:
    """By the suffix of the path."""
    if path.suffix == ".npy":
        return NpyFile
    if path.suffix == ".zarr":
        needed("zarr")
        return ZarrArray
    if path.suffix == ".parquet":
        needed("pyarrow")
        return ParquetFolder
    raise DataError(
        f"{path} does not say what to write by how it ends. Choose .npy (an array file), .zarr (a Zarr array) or "
        ".parquet (a folder of Parquet files)."
    )


def part_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def write_part(path: Path, rows: np.ndarray) -> None:
    """Rows as a Parquet file, which is there whole or not at all, also after a power cut."""
    import pyarrow as pa
    from pyarrow import parquet

    numbers = pa.array(np.ascontiguousarray(rows).ravel())
    if rows.ndim == 1:
        table = pa.table({"values": numbers})
    else:
        table = pa.table({"vectors": pa.FixedSizeListArray.from_arrays(numbers, rows.shape[1])})
    write_atomically(path, lambda file: parquet.write_table(table, file, use_dictionary=False, compression="none"))


def rows_of(part: Path) -> np.ndarray:
    """What write_part has written."""
    from pyarrow import parquet

    table = parquet.read_table(part)
    column = table.column(0).combine_chunks()
    if table.column_names == ["values"]:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(-1, column.type.list_size)


def _is_part(entry: Path) -> bool:
    from pyarrow import ArrowException, parquet

    if not (re.fullmatch(r"part-\d{6,}\.parquet", entry.name) and entry.is_file()):
        return False
    try:
        return parquet.read_schema(entry).names in (["vectors"], ["values"])
    except (OSError, ArrowException):
        return False
