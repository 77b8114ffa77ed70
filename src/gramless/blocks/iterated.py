"""Blocks that a caller makes: a function that starts a pass over them, or an iterator for a single pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from gramless.blocks.base import Block, checked_block, told_with_place
from gramless.blocks.local import LocalBlocks
from gramless.errors import DataError
from gramless.views import Columns, Layout

Start = Callable[[], Iterable[Any]]
"""Starts a pass: an iterable of whatever Views takes, or of pairs of that and labels."""


@dataclass(frozen=True, eq=False)
class IteratedBlocks(LocalBlocks):
    """labelled : whether every block comes as a pair, samples and labels."""

    start: Start
    columns: Columns | None
    labelled: bool
    chosen: Layout | None = None  # type: ignore[assignment]

    @classmethod
    def of(cls, source: Start | Iterator[Any], columns: Columns | None, labelled: bool) -> IteratedBlocks:
        return cls(source if callable(source) else OnePass(source), columns, labelled)

    @cached_property
    def layout(self) -> Layout:
        if self.chosen is not None:
            return self.chosen
        peeked = self.start.peek() if isinstance(self.start, OnePass) else next(iter(self.start()), None)
        if peeked is None:
            raise DataError("got no blocks: there are no samples.")
        return self._checked(0, peeked, None).views.layout

    @property
    def n_samples(self) -> None:
        return None

    @property
    def has_labels(self) -> bool:
        return self.labelled

    def blocks(self, first_row: int = 0) -> Iterator[Block]:
        layout, start = self.layout, 0
        for item in self.start():
            block = self._checked(start, item, layout)
            start = block.stop
            if block.stop > first_row:
                yield block.from_row(first_row)

    def _checked(self, start: int, item: Any, layout: Layout | None) -> Block:
        pair = isinstance(item, tuple) and len(item) == 2
        with told_with_place(start):
            if self.labelled and not pair:
                raise DataError(f"got a {type(item).__name__} instead of a pair of samples and labels.")
            if pair and not self.labelled:
                raise DataError(
                    "got a pair. Say labels=True if these are samples and their labels, or give two views as a list."
                )
        data, labels = item if pair else (item, None)
        return checked_block(start, data, labels, self.columns, layout)


class OnePass:
    """An iterator as the start of a pass, the only one that there can be."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._left: Iterator[Any] | None = iterator

    def peek(self) -> Any:
        """The first block, which the pass still gives."""
        iterator = self()
        first = next(iterator, None)
        self._left = chain([first], iterator) if first is not None else iter(())
        return first

    def __call__(self) -> Iterator[Any]:
        if self._left is None:
            raise DataError(
                "an iterator gives its blocks once, and this needs another pass over them. Give a function that starts "
                "them anew, such as in_blocks(lambda: read_blocks(path))."
            )
        left, self._left = self._left, None
        return left
