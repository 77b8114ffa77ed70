"""Blocks that this machine reads one after the other, labels beside them, and rows that are computed from them."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch

from gramless.blocks.base import Block, Blocks, Sum, label_array, with_rows
from gramless.blocks.writing import write_rows
from gramless.errors import DataError
from gramless.support.config import computes_on_gpu, with_config
from gramless.support.progress import ProgressBar, Waiting
from gramless.views import Layout


class LocalBlocks(Blocks):
    """Blocks that this machine reads, one at a time."""

    @abstractmethod
    def blocks(self, first_row: int = 0) -> Iterator[Block]:
        """A pass over the samples from that row on."""

    @property
    def reads_from(self) -> tuple[Path, ...]:
        """Files and folders that the samples are read from, as far as they are known; nothing may be written there."""
        return ()

    def total(self, function: Callable[[Block], Sum], what: str) -> Sum:
        sums: Sum | None = None
        for found in each(function, self.shown(what)):
            sums = found if sums is None else sums + found
        if sums is None:
            raise DataError("got no blocks: there are no samples.")
        return sums

    def mapped(self, function: Callable[[Block], np.ndarray], width: int | None, dtype: Any, what: str) -> Rows:
        return Rows(self, function, width, np.dtype(dtype), what)

    def with_labels(self, labels: Any) -> LabelledBlocks:
        return LabelledBlocks(self, with_rows(labels))

    def shown(self, what: str, first_row: int = 0) -> Iterator[Block]:
        """A pass over the blocks that a progress bar shows."""
        n_samples = self.n_samples
        bar = None if n_samples is None else ProgressBar(what, n_samples - first_row)
        with bar or Waiting(what):
            for block in self.blocks(first_row):
                yield block
                if bar is not None:
                    bar.advance(len(block))


@dataclass(frozen=True, eq=False)
class LabelledBlocks(LocalBlocks):
    """labels : an array, a memory map, an HDF5 data set ... with one row per sample."""

    samples: LocalBlocks
    labels: Any

    def __post_init__(self) -> None:
        n = self.samples.n_samples
        if n is not None and self.labels.shape[0] != n:
            raise DataError(f"got {n:,} samples and {self.labels.shape[0]:,} labels. Give one label for each sample.")

    @property
    def layout(self) -> Layout:
        return self.samples.layout

    @property
    def n_samples(self) -> int | None:
        return self.samples.n_samples

    @property
    def has_labels(self) -> bool:
        return True

    @property
    def reads_from(self) -> tuple[Path, ...]:
        return self.samples.reads_from + files_of(self.labels)

    def match(self, layout: Layout) -> Self:
        return replace(self, samples=self.samples.match(layout))

    def with_labels(self, labels: Any) -> LabelledBlocks:
        return self.samples.with_labels(labels)

    def blocks(self, first_row: int = 0) -> Iterator[Block]:
        n_labels, stop = self.labels.shape[0], first_row
        for block in self.samples.blocks(first_row):
            stop = block.stop
            found = self.labels[block.start : block.stop]
            if found.shape[0] < len(block):
                raise DataError(f"got more than {n_labels:,} samples and only that many labels. Give one for each.")
            yield Block(block.start, block.views, label_array(found))
        if stop < n_labels:
            raise DataError(f"got {stop:,} samples and {n_labels:,} labels. Give one label for each sample.")


@dataclass(frozen=True, eq=False)
class Rows:
    """One row per sample, computed block by block when it is asked for.

    `np.asarray(rows)` computes all of them, `rows.write("vectors.npy")` into a file, and `for block in rows.blocks()`
    one after the other.
    """

    source: LocalBlocks
    function: Callable[[Block], np.ndarray]
    width: int | None
    dtype: np.dtype
    what: str

    @property
    def n_rows(self) -> int | None:
        return self.source.n_samples

    @property
    def reads_from(self) -> tuple[Path, ...]:
        return self.source.reads_from

    def blocks(self, first_row: int = 0) -> Generator[np.ndarray]:
        """From that row on; each (n,) or (n, width)."""
        for found in each(self.function, self.source.shown(self.what, first_row)):
            yield np.ascontiguousarray(found, dtype=self.dtype)

    def write(self, path: str | Path) -> Path:
        """Into an array file (.npy), a Zarr array (.zarr) or a folder of Parquet files (.parquet); a run that was
        stopped, by whatever, continues."""
        return write_rows(self, Path(path))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = list(self.blocks())
        empty = np.empty((0,) if self.width is None else (0, self.width), self.dtype)
        return np.concatenate(found or [empty]).astype(dtype or self.dtype, copy=False)

    def __len__(self) -> int:
        if self.n_rows is None:
            raise TypeError(
                "only a pass over the data can tell how many rows there are: np.asarray(rows), or rows.write(path)."
            )
        return self.n_rows

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self),) if self.width is None else (len(self), self.width)


def files_of(*arrays: Any) -> tuple[Path, ...]:
    """Where memory maps and Zarr arrays on disk lie."""
    files = (getattr(array, "filename", None) for array in arrays)
    folders = (getattr(getattr(array, "store", None), "root", None) for array in arrays)
    return tuple(Path(path) for path in (*files, *folders) if isinstance(path, (str, Path)))


MOST_READERS = 6
GPU_WORKERS = 3  # one fills page-locked memory, one computes, one takes its answers away

Given = TypeVar("Given")
Result = TypeVar("Result")


def readers_at_once() -> int:
    """Threads that read: with a GPU most processors are idle; without, one reads while the others compute."""
    return max(1, min(MOST_READERS, torch.get_num_threads() // 2)) if computes_on_gpu() else 1


def each(function: Callable[[Given], Result], items: Iterable[Given]) -> Iterator[Result]:
    """function(item) of every item, in order; on a GPU several at once, so that one computes while others travel."""
    if not computes_on_gpu():
        return map(function, items)
    return in_order((partial(function, item) for item in items), GPU_WORKERS)


def in_order(tasks: Iterable[Callable[[], Result]], n_threads: int) -> Generator[Result]:
    """What tasks return, in their order; at most n_threads of them are done, or under way, ahead of the last one asked.

    Tasks run under the settings of the thread that asks. What one raises is raised where its result would have come.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(with_config(task)))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
