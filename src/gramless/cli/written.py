"""What was changed in picture files and their sidecars, or would be, for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import typer

from gramless.pictures.metadata.marks import Given
from gramless.pictures.metadata.writing import Writing
from gramless.support.printable import printable


def show_writings(done: Sequence[Writing], *, dry_run: bool) -> None:
    """One line for every file that would change, or how many have changed."""
    changed = [writing for writing in done if writing.changes]
    if dry_run:
        for writing in changed:
            typer.echo(printable(f"{writing.path}: {_described(writing)}"))
    would = "would be " if dry_run else ""
    n_new = sum(len(_keywords(writing.come) - _keywords(writing.gone)) for writing in changed)
    n_gone = sum(len(_keywords(writing.gone) - _keywords(writing.come)) for writing in changed)
    files = "1 file" if len(changed) == 1 else f"{len(changed):,} files"
    same = len(done) - len(changed)
    unchanged = f"; {same:,} {would or 'were '}left as they {'are' if dry_run else 'were'}" if same else ""
    typer.echo(f"{files} {would}changed: {n_new:,} keywords {would}written, {n_gone:,} {would}taken back{unchanged}")


def _keywords(given: Iterable[Given]) -> set[str]:
    return {each.keyword for each in given}


def _described(writing: Writing) -> str:
    before, after = _keywords(writing.gone), _keywords(writing.come)
    parts = [f"+ {given.keyword} ({given.probability:.2f})" for given in writing.come if given.keyword not in before]
    parts += [f"= {given.keyword} ({given.probability:.2f})" for given in writing.come if given.keyword in before]
    parts += [f"- {given.keyword}" for given in writing.gone if given.keyword not in after]
    whole = " (the file is removed)" if writing.after is None and writing.place == "beside" else ""
    return (", ".join(parts) or "no keywords of ours are left") + whole
