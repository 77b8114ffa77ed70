"""A Dask array in a folder of Parquet files, which the workers write and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gramless.blocks.formats import ParquetFolder, part_name, rows_of, write_part
from gramless.blocks.writing import (
    LOOKED_AT,
    another_run,
    check_place,
    partial_of,
    place_of,
    places_in,
    require_same_rows,
)
from gramless.errors import DataError
from gramless.support.atomic import TEMPORARY, locked, put_in_place
from gramless.support.packages import needed
from gramless.support.progress import Waiting


def write_partitions(array: Any, path: str | Path) -> Path:
    """Write a Dask array of rows, (n, width) or (n,), as a folder of files part-000000.parquet, ..., one per partition.

    The path is one that all workers see. Each file is written by the worker that computes it, whole or not at all, into
    a folder that is called like the path with .partial after it, and gets the path as its name when all are there. What
    an earlier run has left there, whose client or cluster was killed, is not computed again, but for a few partitions,
    to see that it is the same run.
    """
    for package in ("dask", "pyarrow"):
        needed(package)
    import dask.array

    if not isinstance(array, dask.array.Array) or array.ndim not in (1, 2):
        raise DataError(
            f"got a {type(array).__name__}, and partitions are those of a Dask array of rows, (n, width) or (n,). "
            "Rows of samples that this machine reads are written by rows.write(path)."
        )
    path = Path(path)
    if path.suffix != ".parquet":
        raise DataError(f"{path} does not end in .parquet, the form in which partitions are written.")
    target = place_of(path.absolute())
    check_place(ParquetFolder, target)
    partial = partial_of(target)
    partial.mkdir(exist_ok=True)
    with locked(partial):
        _write_missing(array, partial)
        for half_written in partial.glob(f"{TEMPORARY}*"):  # by a worker that was killed
            half_written.unlink()
        put_in_place(partial, target)
    return path


def read_by_workers(array: Any, path: Path) -> Any:
    """The array as it was written there, partition by partition."""
    import dask.array

    read, parts = dask.delayed(rows_of), (path / part_name(number) for number in range(len(array.chunks[0])))
    shapes = ((size, *array.shape[1:]) for size in array.chunks[0])
    found = [dask.array.from_delayed(read(part), shape, array.dtype) for part, shape in zip(parts, shapes, strict=True)]
    return dask.array.concatenate(found)


def _write_missing(array: Any, partial: Path) -> None:
    import dask
    from pyarrow import parquet

    whole_rows = array.rechunk({1: array.shape[1]}) if array.ndim == 2 else array
    names = [part_name(number) for number in range(len(whole_rows.chunks[0]))]
    found = [entry.name for entry in partial.iterdir() if not entry.name.startswith(TEMPORARY)]
    strangers = sorted(set(found) - set(names))
    done = [number for number, name in enumerate(names) if (partial / name).exists()]
    if strangers:
        raise another_run(partial, f"it holds {strangers[0]}, which is no part of it")
    for number in done:
        if parquet.read_metadata(partial / names[number]).num_rows != whole_rows.chunks[0][number]:
            raise another_run(partial, f"{names[number]} has not the rows of this partition")
    if done:
        _require_same_run(whole_rows, [done[place] for place in places_in(len(done))], partial)
    blocks, write = whole_rows.to_delayed().reshape(-1), dask.delayed(write_part)
    missing = sorted(set(range(len(names))) - set(done))
    with Waiting(f"writing {len(missing):,} of {len(names):,} partitions"):
        dask.compute([write(partial / names[number], blocks[number]) for number in missing])


def _require_same_run(array: Any, numbers: list[int], partial: Path) -> None:
    """Compute the first rows of these partitions anew."""
    import dask

    with Waiting("looking at what is written already"):
        (computed,) = dask.compute([array.blocks[number][:LOOKED_AT] for number in numbers])
    for number, now in zip(numbers, computed, strict=True):
        there = rows_of(partial / part_name(number))[: len(now)]
        require_same_rows(partial, sum(array.chunks[0][:number]), there, now)
