"""Whether rows that are there already are those of this run, so that it may continue after them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gramless.errors import DataError

if TYPE_CHECKING:
    from gramless.blocks.local import Rows

LOOKED_AT = 256  # rows, at each place
PLACES = 6  # at the ends and evenly between
TOLERANCE = 1e-4  # of the largest number: another machine may round differently


def another_run(place: Path, why: str) -> DataError:
    """What is there cannot be continued."""
    return DataError(f"{place} was left by another run: {why}. Remove it to begin anew, or choose another path.")


def require_same_run(rows: Rows, n: int, read: Callable[[int, int], np.ndarray], place: Path) -> None:
    """Compute rows at a few places anew; an error that says what differs, if they do not agree.

    Data that was changed between these places alone is not noticed.

    n, read : how many rows there are, and those from one number to before another
    """
    if rows.n_rows is not None and n > rows.n_rows:
        raise another_run(place, f"it holds {n:,} rows, and only {rows.n_rows:,} are to be written")
    for first in places_in(max(1, n - LOOKED_AT + 1)):
        last = min(n, first + LOOKED_AT)
        now: list[np.ndarray] = []
        with closing(rows.blocks(first)) as blocks:
            while sum(map(len, now)) < last - first:
                if (block := next(blocks, None)) is None:
                    raise another_run(place, f"it holds {n:,} rows, and now there are fewer to be written")
                now.append(block)
        require_same_rows(place, first, read(first, last), np.concatenate(now)[: last - first])


def places_in(n: int) -> list[int]:
    """Numbers below n to be looked at: the first, the last, and some evenly between."""
    return sorted({round(i * (n - 1) / (PLACES - 1)) for i in range(PLACES)})


def require_same_rows(place: Path, first: int, there: np.ndarray, now: np.ndarray) -> None:
    """Whether rows from that number on are the same, there and computed now, but for rounding."""
    if there.shape != now.shape or there.dtype != now.dtype:
        raise another_run(
            place,
            f"it holds rows of {there.dtype} and shape {there.shape[1:]}, and rows of {now.dtype} and shape "
            f"{now.shape[1:]} are to be written",
        )
    differing = np.flatnonzero(~_agree(there, now).reshape(len(there), -1).all(axis=1))
    if len(differing):
        at = differing[0]
        told = f"its row {first + at:,} begins {_told(there[at])}, and computed anew {_told(now[at])}"
        raise another_run(place, told)


def _agree(there: np.ndarray, now: np.ndarray) -> np.ndarray:
    if there.dtype.kind != "f":
        return there == now
    largest = np.abs(there[np.isfinite(there)]).max(initial=0.0)
    return np.isclose(there, now, rtol=0.0, atol=TOLERANCE * float(largest), equal_nan=True)


def _told(row: np.ndarray) -> str:
    return " ".join(f"{number:.6g}" for number in np.atleast_1d(row)[:3])
