"""A progress bar for whatever turns out to take longer than two seconds, and silence for the rest."""

from __future__ import annotations

import time
from threading import Timer
from types import TracebackType
from typing import ClassVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.status import Status

PATIENCE_SECONDS = 2.0


class Waiting:
    """Says what is going on, after two seconds, while something of unknown length runs; same rules as a ProgressBar."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __enter__(self) -> Waiting:
        self._status: Status | None = None
        self._timer = Timer(PATIENCE_SECONDS, self._show)
        self._timer.daemon = True
        self._timer.start()
        return self

    def _show(self) -> None:
        console = Console(stderr=True)
        if (console.is_terminal or console.is_jupyter) and not ProgressBar._shown:
            self._status = console.status(self._label)
            self._status.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        if self._status is not None:
            self._status.stop()


class ProgressBar:
    """Counts steps of known total; draws on stderr only after two seconds, and only where a person can see it.

    Bars do not nest: work that is part of shown work stays silent.
    """

    _shown: ClassVar[bool] = False

    def __init__(self, label: str, total: float) -> None:
        self._label = label
        self._total = total
        self._done = 0.0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> ProgressBar:
        self._started = time.monotonic()
        console = Console(stderr=True)
        self._console = console if console.is_terminal or console.is_jupyter else None
        return self

    def advance(self, steps: float = 1.0) -> None:
        self._done += steps
        overdue = time.monotonic() - self._started > PATIENCE_SECONDS
        if self._bar is None and self._console and overdue and not ProgressBar._shown:
            ProgressBar._shown = True
            columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=self._total)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def pause(self) -> None:
        """Leave the screen to others until the next step."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            ProgressBar._shown = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause()
