"""Whether rows that are there already are those of this run, so that it may continue after them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gramless.blocks.sinks.base import Sink, another_run

if TYPE_CHECKING:
    from gramless.blocks.local import Rows

LOOKED_AT = 256  # rows, at each place
PLACES = 6  # at the ends and evenly between
TOLERANCE = 1e-4  # of the largest number: another machine may round differently


def require_same_run(rows: Rows, sink: Sink) -> None:
    """Compute rows at a few places of the sink anew; an error that says what differs, if they do not agree.

    Data that was changed between these places alone is not noticed.
    """
    n = sink.n_rows
    if rows.n_rows is not None and n > rows.n_rows:
        raise another_run(sink.partial, f"it holds {n:,} rows, and only {rows.n_rows:,} are to be written")
    for first in places_in(max(1, n - LOOKED_AT + 1)):
        last = min(n, first + LOOKED_AT)
        there, now = sink.read(first, last), _computed(rows, first, last)
        if len(now) < len(there):
            raise another_run(
                sink.partial, f"it holds {n:,} rows, and now there are only {first + len(now):,} to be written"
            )
        require_same_rows(sink.partial, first, there, now)


def places_in(n: int) -> list[int]:
    """Numbers below n to be looked at: the first, the last, and some evenly between."""
    return sorted({round(i * (n - 1) / (PLACES - 1)) for i in range(PLACES)})


def require_same_rows(partial: Path, first: int, there: np.ndarray, now: np.ndarray) -> None:
    """Whether rows from that number on are the same, there and computed now, but for rounding."""
    differing = np.flatnonzero(~_agree(there, now).reshape(len(there), -1).all(axis=1))
    if len(differing):
        at = differing[0]
        raise another_run(
            partial, f"its row {first + at:,} begins {_told(there[at])}, and computed anew {_told(now[at])}"
        )


def _computed(rows: Rows, first: int, last: int) -> np.ndarray:
    found: list[np.ndarray] = []
    with closing(rows.blocks(first)) as blocks:
        while sum(map(len, found)) < last - first and (block := next(blocks, None)) is not None:
            found.append(block)
    empty = np.empty((0,) if rows.width is None else (0, rows.width), rows.dtype)
    return np.concatenate([empty, *found])[: last - first]


def _agree(there: np.ndarray, now: np.ndarray) -> np.ndarray:
    if there.dtype.kind != "f":
        return there == now
    largest = np.abs(there[np.isfinite(there)]).max(initial=0.0)
    return np.isclose(there, now, rtol=0.0, atol=TOLERANCE * float(largest), equal_nan=True)


def _told(row: np.ndarray) -> str:
    return " ".join(f"{number:.6g}" for number in np.atleast_1d(row)[:3])
