"""Rows on a cluster, into files that its workers write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gramless.support.packages import needed


def write_partitions(array: Any, path: str | Path) -> Path:
    """Write a Dask array of rows, (n, width) or (n,), as a folder of files part-000000.parquet, ..., one per partition.

    The path is one that all workers see. Each file is written by the worker that computes it, whole or not at all, into
    a folder that is called like the path with .partial after it, and gets the path as its name when all are there. What
    an earlier run has left there, whose client or cluster was killed, is not computed again, but for a few partitions,
    to see that it is the same run.
    """
    for package in ("dask", "pyarrow"):
        needed(package)
    from gramless.blocks.sinks.partitions import write_all

    write_all(array, Path(path))
    return Path(path)
