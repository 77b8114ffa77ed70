"""How much memory may be used at once, and the row blocks that follow from it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from math import isqrt

import numpy as np
import psutil

from gramless.errors import MemoryBudgetError

FREE_SHARE = 4  # by default a quarter of what is free
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def resolve_budget(memory_budget: float | str | None) -> int:
    """Bytes that may be used at once: a number, a text like "256MiB", or None for a quarter of what is free."""
    if memory_budget is None:
        return int(psutil.virtual_memory().available) // FREE_SHARE
    if isinstance(memory_budget, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*([kmg]i?)?b?\s*", memory_budget, flags=re.IGNORECASE)
        if found is None:
            raise ValueError(
                f"memory_budget={memory_budget!r} is not a size. Give bytes, or a text such as '256MiB' or '2 GB'."
            )
        memory_budget = float(found[1]) * _UNITS[(found[2] or "").lower()]
    if not (isinstance(memory_budget, (int, float, np.number)) and 1 <= memory_budget < 2**63):  # NaN is neither
        raise ValueError(f"memory_budget must be a positive number of bytes, got {memory_budget!r}.")
    return int(memory_budget)


def readable(n_bytes: float) -> str:
    """A size for people: 1.5 GiB."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"


def require(n_bytes: float, budget: int, *, what: str, remedy: str) -> None:
    """Refuse, before it starts, work whose memory is known not to fit."""
    if n_bytes > budget:
        raise MemoryBudgetError(
            f"{what} needs {readable(n_bytes)}, and the memory budget is {readable(budget)}. {remedy}"
        )


def affordable_samples(n_samples: int, bytes_per_pair: int, n_bytes: int, *, what: str) -> int:
    """How many of so many samples, all pairs of which have to fit, there is memory for: at least two.

    Fewer than all are said: results depend on the memory then, by default on what is free.
    """
    n_affordable = max(2, isqrt(n_bytes // bytes_per_pair))
    if n_affordable < n_samples:
        warnings.warn(
            f"{what} takes {n_affordable:,} samples instead of {n_samples:,}: the memory budget, by default a quarter "
            "of what is free, allows no more. Set memory_budget for results that are the same every day.",
            stacklevel=6,
        )
    return min(n_samples, n_affordable)


def row_blocks(n_rows: int, bytes_per_row: float, budget: int) -> Iterator[slice]:
    """Cut n_rows into equal slices that each stay within the budget; never less than one row at a time."""
    rows = max(1, min(n_rows, int(budget // max(bytes_per_row, 1))))
    n_blocks = -(-n_rows // rows)
    rows = -(-n_rows // n_blocks) if n_blocks else 1
    for start in range(0, n_rows, rows):
        yield slice(start, min(start + rows, n_rows))
