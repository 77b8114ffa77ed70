"""Cells of tables: each is computed once and kept in a file named by everything that it depends on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gramless.atomic import write_atomically

SPEAKING = ("model", "features", "device")  # settings whose values need no name
SILENT = ("data", "over")  # settings that say nothing to people

Figures = dict[str, Any]
"""What a cell holds: numbers, texts and lists of them, as JSON has them."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A piece of a table that is computed at once.

    settings : all that the figures depend on, the hash of the data included; JSON
    version : of the code that computes cells of this table; raised where the same settings give other figures
    """

    table: str
    version: int
    settings: Mapping[str, Any]
    compute: Callable[[], Figures]

    @property
    def name(self) -> str:
        told = json.dumps([self.table, self.version, self.settings], sort_keys=True)
        return f"{self.table}-{hashlib.sha256(told.encode()).hexdigest()[:20]}"

    @property
    def label(self) -> str:
        """What is computed, for people."""
        told = [
            str(value) if name in SPEAKING else f"{name} = {value}"
            for name, value in self.settings.items()
            if name not in SILENT and value is not None
        ]
        return f"{self.table}: {', '.join(told)}"


@dataclass(frozen=True)
class Kept:
    """The figures of a cell, and how long they took."""

    figures: Figures
    seconds: float


class CellStore:
    """The cells in a folder, one JSON file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, cell: Cell) -> Kept | None:
        """What was computed before; None where nothing was, or where the file is damaged."""
        try:
            content = json.loads(self._path(cell).read_text(encoding="utf-8"))
            return Kept(content["figures"], float(content["seconds"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def keep(self, cell: Cell, kept: Kept) -> None:
        content = {
            "table": cell.table,
            "version": cell.version,
            "settings": dict(cell.settings),
            "seconds": kept.seconds,
            "figures": kept.figures,
        }
        text = json.dumps(content, indent=1)
        write_atomically(self._path(cell), lambda file: file.write(text.encode()))

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.name}.json"


@dataclass(frozen=True, eq=False)
class Computed:
    """Cells with their figures, as far as they are known."""

    known: tuple[tuple[Cell, Figures], ...]
    n_missing: int

    def runs(self, table: str, **settings: Any) -> list[Figures]:
        """The figures of the cells of a table with these settings, one for each of the others, as seeds."""
        return [
            figures
            for cell, figures in self.known
            if cell.table == table and all(cell.settings.get(name) == value for name, value in settings.items())
        ]


def compute_missing(cells: Sequence[Cell], store: CellStore, tell: Callable[[str], None]) -> None:
    """Compute the cells that are not kept yet, in order, and keep each as soon as it is known.

    `tell` is called before each with what is computed, and how long all that are left will take where it can be said.
    """
    taken: dict[str, list[float]] = {}
    todo = []
    for cell in cells:
        kept = store.find(cell)
        if kept is None:
            todo.append(cell)
        else:
            taken.setdefault(_kind(cell), []).append(kept.seconds)
    for number, cell in enumerate(todo):
        left = seconds_left(todo[number:], taken)
        tell(f"[{number + 1} of {len(todo)}] {cell.label}{f' ({spoken(left)} left)' if left is not None else ''}")
        started = time.perf_counter()
        figures = cell.compute()
        seconds = time.perf_counter() - started
        store.keep(cell, Kept(figures, seconds))
        taken.setdefault(_kind(cell), []).append(seconds)


def collect(cells: Sequence[Cell], store: CellStore) -> Computed:
    """All cells that are kept by now."""
    found = [(cell, store.find(cell)) for cell in cells]
    known = tuple((cell, kept.figures) for cell, kept in found if kept is not None)
    return Computed(known, len(cells) - len(known))


def seconds_left(todo: Sequence[Cell], taken: Mapping[str, Sequence[float]]) -> float | None:
    """An estimate from cells of the same kind; for kinds never met, from the mean of all. None before the first."""
    every = [seconds for each in taken.values() for seconds in each]
    if not every:
        return None
    typical = sum(every) / len(every)
    known = {kind: sum(each) / len(each) for kind, each in taken.items()}
    return sum(known.get(_kind(cell), typical) for cell in todo)


def spoken(seconds: float) -> str:
    """A length of time for people."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s"
    if seconds < 90 * 60:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def _kind(cell: Cell) -> str:
    """Cells that take about as long as each other: of one table, by one method, on as many landmarks."""
    return " ".join(str(part) for part in (cell.table, cell.settings.get("model"), cell.settings.get("S")))
