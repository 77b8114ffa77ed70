"""Blocks on a Dask cluster: the partitions of Dask arrays, which stay where they are."""

from __future__ import annotations

import multiprocessing
import operator
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import dask
import dask.array
import numpy as np

from gramless.blocks.arrays import layout_of, named_arrays
from gramless.blocks.base import Block, Blocks, Sum, checked_block, label_array, with_rows
from gramless.errors import DataError
from gramless.support.config import with_config
from gramless.support.progress import Waiting
from gramless.support.threads import one_thread
from gramless.views import Columns, Layout


@dataclass(frozen=True, eq=False)
class DaskBlocks(Blocks):
    """The partitions of Dask arrays: one view each, or one array whose columns are cut into views.

    Functions travel to the partitions as part of the task graph, so the scheduler can compute anew whatever is lost
    with a worker. Sums are taken in pairs, always the same ones: however many workers there are and whichever die, the
    result is the same to the last bit.
    """

    arrays: dict[str, Any]
    labels: Any
    columns: Columns | None
    chosen: Layout

    @classmethod
    def of(cls, data: Any, columns: Columns | None) -> DaskBlocks:
        arrays = named_arrays(data, columns)
        for name, array in arrays.items():
            if not isinstance(array, dask.array.Array):
                raise DataError(
                    f"view {name!r} is a {type(array).__name__} beside Dask arrays. Give all views as Dask arrays with "
                    "the same partitions: dask.array.from_array(view, chunks=...)."
                )
        sizes = {name: array.chunks[0] for name, array in arrays.items()}
        _check_partitions(sizes)
        whole_rows = {name: array.rechunk({1: array.shape[1]}) for name, array in arrays.items()}
        return cls(whole_rows, None, columns, layout_of(arrays, columns))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of every partition."""
        return next(iter(self.arrays.values())).chunks[0]

    @property
    def n_samples(self) -> int:
        return sum(self.sizes)

    @property
    def has_labels(self) -> bool:
        return self.labels is not None

    def with_labels(self, labels: Any) -> DaskBlocks:
        if not isinstance(labels, dask.array.Array):
            labels = label_array(with_rows(labels))
            if len(labels) != self.n_samples:
                raise DataError(f"got {self.n_samples:,} samples and {len(labels):,} labels. Give one for each.")
            labels = dask.array.from_array(labels, chunks=(self.sizes, *labels.shape[1:]))
        _check_partitions({"the samples": self.sizes, "their labels": labels.chunks[0]})
        return replace(self, labels=labels.rechunk(dict.fromkeys(range(1, labels.ndim), -1)))

    def total(self, function: Callable[[Block], Sum], what: str) -> Sum:
        sums = self._on_every_block(function)
        while len(sums) > 1:
            pairs = [dask.delayed(operator.add)(a, b) for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + sums[2 * len(pairs) :]
        with Waiting(what):
            return sums[0].compute()

    def mapped(self, function: Callable[[Block], np.ndarray], width: int | None, dtype: Any, what: str) -> Any:
        shapes = [(size,) if width is None else (size, width) for size in self.sizes]
        parts = zip(self._on_every_block(function), shapes, strict=True)
        return dask.array.concatenate([dask.array.from_delayed(part, shape, dtype) for part, shape in parts])

    def _on_every_block(self, function: Callable[[Block], Any]) -> list[Any]:
        wanted = self.arrays if self.columns is not None else {name: self.arrays[name] for name in self.chosen}
        parts = {name: array.to_delayed()[:, 0] for name, array in wanted.items()}
        labels = [None] * len(self.sizes) if self.labels is None else self.labels.to_delayed().reshape(-1).tolist()
        travelling = dask.delayed(with_config(function), traverse=False)
        starts = np.cumsum((0, *self.sizes[:-1])).tolist()
        evaluate = dask.delayed(_evaluate)
        return [
            evaluate(travelling, start, {name: part[i] for name, part in parts.items()}, y, self.columns, self.chosen)
            for i, (start, y) in enumerate(zip(starts, labels, strict=True))
        ]


def _evaluate(
    function: Callable[[Block], Any],
    start: int,
    arrays: dict[str, np.ndarray],
    labels: np.ndarray | None,
    columns: Columns | None,
    layout: Layout,
) -> Any:
    """function(block), on a worker."""
    data = arrays if columns is None else next(iter(arrays.values()))
    # A worker's cores are taken by its tasks.
    with nullcontext() if multiprocessing.parent_process() is None else one_thread():
        return function(checked_block(start, data, labels, columns, layout))


def _check_partitions(sizes: dict[str, tuple[int, ...]]) -> None:
    for name, found in sizes.items():
        if any(np.isnan(found)):
            raise DataError(f"the partition sizes of {name} are unknown. Call its compute_chunk_sizes() first.")
        if 0 in found:
            raise DataError(f"{name} has an empty partition. Rechunk it, as with array.rechunk('auto').")
    first, *others = sizes
    for name in others:
        if sizes[name] != sizes[first]:
            raise DataError(
                f"partitions must hold the same samples in all views, but {first} has {_told(sizes[first])} and {name} "
                f"{_told(sizes[name])}. Rechunk them alike, as with array.rechunk({{0: {max(sizes[first])}}})."
            )


def _told(sizes: tuple[int, ...]) -> str:
    shown = ", ".join(f"{size:,}" for size in sizes[:5])
    return f"{len(sizes):,} partitions ({shown}{', ...' if len(sizes) > 5 else ''} rows, {sum(sizes):,} in all)"
