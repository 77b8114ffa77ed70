"""Rows on disk that grow block by block, and whose complete blocks are usable at any time."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import numpy as np

from gramless.blocks.sinks.durable import lock, put_in_place
from gramless.errors import DataError

SYNC_SECONDS = 1.0  # of work that a power cut or kill -9 may cost
SYNC_SHARE = 20  # and at most a twentieth of the time goes into waiting for the disk


@dataclass(frozen=True)
class RowForm:
    """What the rows look like.

    width : columns, None where a row is one number
    n_rows : how many there will be, None where nobody knows yet
    """

    width: int | None
    dtype: np.dtype
    n_rows: int | None = None

    @property
    def row_shape(self) -> tuple[int, ...]:
        return () if self.width is None else (self.width,)

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * (1 if self.width is None else self.width)

    def rows_in(self, n_bytes: int) -> int:
        """How many rows so many bytes hold; at least one."""
        return max(1, n_bytes // self.row_bytes)


class Sink(ABC):
    """Rows that grow under a name of their own beside their target, and get its name in one step when all are there.

    What was there under that name is continued. `n_rows` rows are complete: they have reached the disk, in whole
    blocks, and stay whatever happens to the process or the machine. Blocks that were appended since become complete
    with the next `sync`, which comes by itself about every SYNC_SECONDS.

    partial : the name while it grows
    """

    reader: ClassVar[str]  # what reads it, complete or not

    def __init__(self, partial: Path, form: RowForm) -> None:
        self.partial = partial
        self.form = form
        self._make()
        self._lock = lock(partial)
        try:
            self.n_rows = self._find_rows()
        except BaseException:
            self._release()
            raise
        self._synced = time.monotonic()
        self._sync_cost = 0.0

    def append(self, block: np.ndarray) -> None:
        """One block more: (n, width), or (n,)."""
        if block.shape[1:] != self.form.row_shape or block.dtype != self.form.dtype:
            raise ValueError(
                f"a block of shape {block.shape} and {block.dtype} came; its rows must be of shape "
                f"{self.form.row_shape} and {self.form.dtype}."
            )
        if len(block):
            self._take(block)
        begun = time.monotonic()
        if begun - self._synced >= max(SYNC_SECONDS, SYNC_SHARE * self._sync_cost):
            self.sync()
            self._synced = time.monotonic()
            self._sync_cost = self._synced - begun

    def finish(self, target: Path) -> None:
        """All rows are there: put them in their place."""
        self.sync()
        self._seal()
        put_in_place(self.partial, target)
        self._release()

    def close(self) -> None:
        """Keep what is complete; nothing where nothing is."""
        if self.partial.exists() and self.n_rows == 0:
            self._discard()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def sync(self) -> None:
        """All that was appended becomes complete.

        Where it failed, it may be called once more, for whatever can be saved, but nothing may be appended any more.
        """

    @abstractmethod
    def read(self, first: int, last: int) -> np.ndarray:
        """Rows first to last - 1 of the complete ones."""

    @classmethod
    @abstractmethod
    def could_have_written(cls, target: Path) -> bool:
        """Whether what is there looks like the work of this sink, and nothing else is lost if it is replaced."""

    @abstractmethod
    def _make(self) -> None:
        """An empty file or folder of the partial's name, where there is none."""

    @abstractmethod
    def _find_rows(self) -> int:
        """How many complete rows are there; whatever comes after them is gone after this."""

    @abstractmethod
    def _take(self, block: np.ndarray) -> None:
        """Rows that need not be complete before the next sync. The array is not kept: its owner may change it."""

    @abstractmethod
    def _seal(self) -> None:
        """The last touch before it is put in its place."""

    @abstractmethod
    def _discard(self) -> None:
        """Remove the partial."""

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _of_another_run(self, why: str) -> DataError:
        return another_run(self.partial, why)


def another_run(partial: Path, why: str) -> DataError:
    """What is there cannot be continued."""
    return DataError(f"{partial} was left by another run: {why}. Remove it to begin anew, or choose another path.")
