"""Data that comes in blocks: on disk, from an iterator, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gramless.blocks.arrays import ArrayBlocks
from gramless.blocks.base import Block, Blocks, Sample, draw
from gramless.blocks.iterated import IteratedBlocks
from gramless.blocks.local import Rows
from gramless.blocks.parquet import ParquetBlocks
from gramless.blocks.partitions import write_partitions
from gramless.support.checks import check_arguments, whole

__all__ = ["Block", "Blocks", "Rows", "Sample", "draw", "in_blocks", "lies_elsewhere", "write_partitions"]

ELSEWHERE = ("dask", "h5py", "zarr")  # packages whose arrays are not in memory


def in_blocks(
    data: Any, labels: Any = None, *, views: Mapping[str, Any] | None = None, rows: int | None = None
) -> Blocks:
    """Data that need not fit into memory, for every estimator's fit, transform and predict.

    data : views by name, a list of views, or one array, each a NumPy memory map, an HDF5 data set, a Zarr array or a
        Dask array; the path of a Parquet file or of a folder of them; a function that starts an iterator of blocks
        anew, each whatever Views takes; or such an iterator, for work of a single pass
    labels : one row for each sample, in an array of any of these kinds; names of columns of a Parquet file; True where
        an iterator gives pairs of samples and labels
    views : with one array, the columns of each view, as slices or positions; of a Parquet file, as names
    rows : of a block; by default as many as 32 MiB hold, and at most 65,536
    """
    check_arguments("in_blocks", {"rows": [whole(1), None]}, rows=rows)
    if isinstance(data, Blocks):
        return data if labels is None else data.with_labels(labels)
    if isinstance(data, (str, Path)):
        by_name = isinstance(labels, str) or (
            isinstance(labels, (list, tuple)) and all(isinstance(c, str) for c in labels)
        )
        found: Blocks = ParquetBlocks.of(Path(data), labels if by_name else None, views, rows)
        return found if by_name or labels is None else found.with_labels(labels)
    if callable(data) or isinstance(data, Iterator):
        if rows is not None:
            raise ValueError("rows= cuts arrays into blocks; an iterator's blocks come as they are.")
        found = IteratedBlocks.of(data, views, labelled=labels is True)
        return found if labels is None or labels is True else found.with_labels(labels)
    if _first_package(data) == "dask":
        from gramless.blocks.dask_blocks import DaskBlocks

        if rows is not None:
            raise ValueError("rows= cuts arrays into blocks; Dask's partitions come as they are: rechunk them.")
        found = DaskBlocks.of(data, views)
    else:
        found = ArrayBlocks.of(data, views, rows)
    return found if labels is None else found.with_labels(labels)


def lies_elsewhere(data: Any) -> bool:
    """Whether data is, or has among its views, an array that is not in memory: of HDF5, Zarr or Dask."""
    return _first_package(data) is not None


def _first_package(data: Any) -> str | None:
    """The package of the first array among views whose arrays are not in memory."""
    arrays = data.values() if isinstance(data, Mapping) else data if isinstance(data, (list, tuple)) else [data]
    for array in arrays:
        package = type(array).__module__.partition(".")[0]
        if package in ELSEWHERE:
            return package
    return None
