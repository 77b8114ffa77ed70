"""A Dask array in a folder of Parquet files, which the workers write; only what writes one imports this module."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
from pyarrow import parquet as pq

from gramless.blocks.sinks.base import another_run
from gramless.blocks.sinks.durable import lock, put_in_place
from gramless.blocks.sinks.parquet import ParquetSink, part_name, rows_of, table_of, write_part
from gramless.blocks.sinks.same_run import LOOKED_AT, places_in, require_same_rows
from gramless.blocks.sinks.writing import check_place, place_of
from gramless.errors import DataError
from gramless.support.atomic import TEMPORARY
from gramless.support.progress import Waiting


def write_all(array: Any, path: Path) -> None:
    """All partitions, but for those that are there already."""
    if not isinstance(array, dask.array.Array) or array.ndim not in (1, 2):
        raise DataError(
            f"a {type(array).__name__} came, and partitions are those of a Dask array of rows, (n, width) or (n,). "
            "Rows of samples that this machine reads are written by rows.write(path)."
        )
    if path.suffix != ".parquet":
        raise DataError(f"{path} does not end in .parquet, the form in which partitions are written.")
    target = place_of(path.absolute())
    check_place(ParquetSink, target)
    partial = target.with_name(f"{target.name}.partial")
    partial.mkdir(exist_ok=True)
    handle = lock(partial)
    try:
        _write_missing(array, partial)
        for half_written in partial.glob(f"{TEMPORARY}*"):  # by a worker that was killed
            half_written.unlink()
        put_in_place(partial, target)
    finally:
        if handle is not None:
            os.close(handle)


def read_by_workers(array: Any, path: Path) -> Any:
    """The array as it was written there, partition by partition."""
    read, parts = dask.delayed(rows_of), (path / part_name(number) for number in range(len(array.chunks[0])))
    shapes = ((size, *array.shape[1:]) for size in array.chunks[0])
    found = [dask.array.from_delayed(read(part), shape, array.dtype) for part, shape in zip(parts, shapes, strict=True)]
    return dask.array.concatenate(found)


def _write_missing(array: Any, partial: Path) -> None:
    whole_rows = array.rechunk({1: array.shape[1]}) if array.ndim == 2 else array
    names = [part_name(number) for number in range(len(whole_rows.chunks[0]))]
    found = [entry.name for entry in partial.iterdir() if not entry.name.startswith(TEMPORARY)]
    strangers = sorted(set(found) - set(names))
    done = [number for number, name in enumerate(names) if (partial / name).exists()]
    if strangers:
        raise another_run(partial, f"it holds {strangers[0]}, which is no part of it")
    for number in done:
        _require_form(partial / names[number], whole_rows, number)
    if done:
        _require_same_run(whole_rows, [done[place] for place in places_in(len(done))], partial)
    blocks = whole_rows.to_delayed().reshape(-1)
    write = dask.delayed(_write)
    missing = sorted(set(range(len(names))) - set(done))
    with Waiting(f"writing {len(missing):,} of {len(names):,} partitions"):
        dask.compute([write(partial / names[number], blocks[number]) for number in missing])


def _write(path: Path, rows: np.ndarray) -> None:
    write_part(path, np.asarray(rows))


def _require_form(part: Path, array: Any, number: int) -> None:
    expected, n_rows = table_of(np.empty((0, *array.shape[1:]), array.dtype)).schema, array.chunks[0][number]
    with pq.ParquetFile(part) as file:
        if not file.schema_arrow.equals(expected) or file.metadata.num_rows != n_rows:
            raise another_run(part.parent, f"{part.name} is not of the {n_rows:,} rows of this partition")


def _require_same_run(array: Any, numbers: list[int], partial: Path) -> None:
    """Compute the first rows of these partitions anew."""
    with Waiting("looking at what is written already"):
        (computed,) = dask.compute([array.blocks[number][:LOOKED_AT] for number in numbers])
    for number, now in zip(numbers, computed, strict=True):
        there = rows_of(partial / part_name(number))[: len(now)]
        require_same_rows(partial, sum(array.chunks[0][:number]), there, now)
