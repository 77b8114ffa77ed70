"""Cells that are not known yet are computed, in an order that makes each network and map once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence

from reproduction.cells import Cell, CellStore, Kept


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
