"""What was changed in picture files and their sidecars, or would be, for people to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from gramless.support.pages import printable

if TYPE_CHECKING:
    from gramless.pictures.metadata.marks import Given
    from gramless.pictures.metadata.writing import Writing


class WritingsShown:
    """One line for every file that would change, or at the end, however that is reached, how many have changed."""

    def __init__(self, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._changed = self._same = self._new = self._gone = 0

    def __enter__(self) -> WritingsShown:
        return self

    def add(self, done: Iterable[Writing]) -> None:
        for writing in done:
            if not writing.changes:
                self._same += 1
                continue
            if self._dry_run:
                typer.echo(printable(f"{writing.path}: {_described(writing)}"))
            self._changed += 1
            self._new += len(_keywords(writing.come) - _keywords(writing.gone))
            self._gone += len(_keywords(writing.gone) - _keywords(writing.come))

    def __exit__(self, *error: object) -> None:
        would = "would be " if self._dry_run else ""
        files = "1 file" if self._changed == 1 else f"{self._changed:,} files"
        keywords = "1 keyword" if self._new == 1 else f"{self._new:,} keywords"
        left = f"; {self._same:,} {self._left()}"
        typer.echo(
            f"{files} {would}changed: {keywords} {would}written, {self._gone:,} {would}taken back"
            f"{left if self._same else ''}"
        )

    def _left(self) -> str:
        alone = self._same == 1
        if self._dry_run:
            return f"would be left as {'it is' if alone else 'they are'}"
        return "was left as it was" if alone else "were left as they were"


def _keywords(given: Iterable[Given]) -> set[str]:
    return {each.keyword for each in given}


def _described(writing: Writing) -> str:
    before, after = _keywords(writing.gone), _keywords(writing.come)
    parts = [f"+ {given.keyword} ({given.probability:.2f})" for given in writing.come if given.keyword not in before]
    parts += [f"= {given.keyword} ({given.probability:.2f})" for given in writing.come if given.keyword in before]
    parts += [f"- {given.keyword}" for given in writing.gone if given.keyword not in after]
    whole = " (the file is removed)" if writing.after is None and writing.place == "beside" else ""
    return (", ".join(parts) or "no keywords of ours are left") + whole
