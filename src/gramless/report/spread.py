"""Some of many, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def spread_evenly(items: Sequence[Item], limit: int) -> list[Item]:
    """At most `limit` of them, evenly spread: the first of a sorted collection would all look alike."""
    n_shown = min(limit, len(items))
    return [items[i * len(items) // n_shown] for i in range(n_shown)]
