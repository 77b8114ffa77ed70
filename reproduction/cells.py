"""Cells of tables: each is computed once and kept in a file named by everything that it depends on.

Those that are not known yet are computed in an order that makes each network and map once.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gramless import DataError
from gramless.support.atomic import write_atomically

SPEAKING = ("model", "features", "device")  # settings whose values need no name
SILENT = ("data", "over")  # settings that say nothing to people

Figures = dict[str, Any]
"""What a cell holds: numbers, texts and lists of them, as JSON has them."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A piece of a table that is computed at once.

    settings : all that the figures depend on, the hash of the data included; JSON
    version : of the code that computes cells of this table; raised where the same settings give other figures
    made_from : what it needs in memory, the largest first, as a network and a map of it; cells that share it are
        computed one after another
    work : how much there is to do, in the unit of cells of the same table, model and S
    late : whether it takes so long that all others come first
    """

    table: str
    version: int
    settings: Mapping[str, Any]
    compute: Callable[[], Figures]
    made_from: tuple[Hashable, ...] = ()
    work: float = 1.0
    late: bool = False

    @property
    def name(self) -> str:
        told = json.dumps([self.table, self.version, self.settings], sort_keys=True)
        return f"{self.table}-{hashlib.sha256(told.encode()).hexdigest()[:20]}"

    @property
    def device(self) -> str | None:
        """Where it was measured, if that matters."""
        return self.settings.get("device")

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
        try:
            text = json.dumps(content, indent=1, allow_nan=False)
        except ValueError as error:
            raise DataError(
                f"{cell.label} gave a figure that is no number: {kept.figures}. Nothing of it is kept; the features or "
                "labels it is computed from are at fault, or the computation is."
            ) from error
        write_atomically(self._path(cell), lambda file: file.write(text.encode()))

    def elsewhere(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, Figures]]:
        """Kept cells that differ from some of these in their device alone."""
        here = {_without_device(cell.table, cell.version, cell.settings): cell for cell in cells if cell.device}
        names = {cell.name for cell in cells}
        for path in sorted(path for table in {cell.table for cell in here.values()} for path in self._files(table)):
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                like = here.get(_without_device(content["table"], content["version"], content["settings"]))
                figures = content["figures"]
            except (ValueError, KeyError, TypeError):
                continue
            if like is not None and path.stem not in names:
                yield replace(like, settings=content["settings"]), figures

    def _files(self, table: str) -> Iterator[Path]:
        return self.folder.glob(f"{table}-*.json")

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.name}.json"


@dataclass(frozen=True, eq=False)
class Computed:
    """Cells with their figures, as far as they are known."""

    known: tuple[tuple[Cell, Figures], ...]
    n_missing: int

    def devices(self, table: str) -> list[str]:
        """Where cells of a table were measured, this machine's first if any was."""
        return list(dict.fromkeys(cell.device for cell, _ in self.known if cell.table == table and cell.device))

    def runs(self, table: str, **settings: Any) -> list[Figures]:
        """The figures of the cells of a table with these settings, one for each of the others, as seeds."""
        return [
            figures
            for cell, figures in self.known
            if cell.table == table and all(cell.settings.get(name) == value for name, value in settings.items())
        ]


def collect(cells: Sequence[Cell], store: CellStore) -> Computed:
    """All cells that are kept by now, and those that were measured on other devices."""
    found = [(cell, store.find(cell)) for cell in cells]
    known = tuple((cell, kept.figures) for cell, kept in found if kept is not None)
    return Computed(known + tuple(store.elsewhere(cells)), len(cells) - len(known))


def _without_device(table: str, version: int, settings: Mapping[str, Any]) -> str:
    others = {name: value for name, value in settings.items() if name != "device"}
    return json.dumps([table, version, others, "device" in settings], sort_keys=True)


def in_order(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Late cells last, and those made from the same together, where the first of them stood."""
    first: dict[tuple[Hashable, ...], int] = {}
    for position, cell in enumerate(cells):
        for level in range(1, len(cell.made_from) + 1):
            first.setdefault(cell.made_from[:level], position)

    def place(cell: Cell) -> tuple[bool, list[int]]:
        return cell.late, [first[cell.made_from[:level]] for level in range(1, len(cell.made_from) + 1)]

    return tuple(sorted(cells, key=place))


def compute_missing(cells: Sequence[Cell], store: CellStore, tell: Callable[[str], None]) -> None:
    """Compute the cells that are not kept yet, in order, and keep each as soon as it is known.

    `tell` is called before each with what is computed, and how long all that are left will take where it can be said.
    """
    taken: dict[str, list[float]] = {}
    todo = []
    for cell in in_order(cells):
        kept = store.find(cell)
        if kept is None:
            todo.append(cell)
        else:
            taken.setdefault(_kind(cell), []).append(kept.seconds / cell.work)
    for number, cell in enumerate(todo):
        left = seconds_left(todo[number:], taken)
        tell(f"[{number + 1} of {len(todo)}] {cell.label}{f' ({spoken(left)} left)' if left is not None else ''}")
        started = time.perf_counter()
        figures = cell.compute()
        seconds = time.perf_counter() - started
        store.keep(cell, Kept(figures, seconds))
        taken.setdefault(_kind(cell), []).append(seconds / cell.work)


def seconds_left(todo: Sequence[Cell], taken: Mapping[str, Sequence[float]]) -> float | None:
    """An estimate from cells of the same kind; a kind never met counts as the mean of those to do. None before one is.

    taken : seconds per work of the cells of each kind that are known
    """
    known = [cell for cell in todo if _kind(cell) in taken]
    if not known:
        return None
    left = sum(cell.work * statistics.fmean(taken[_kind(cell)]) for cell in known)
    return left * len(todo) / len(known)


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
