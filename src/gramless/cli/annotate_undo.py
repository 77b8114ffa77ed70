"""`gramless annotate undo`: take the machine's keywords back, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gramless.cli.problems import list_problems
from gramless.cli.written import WritingsShown
from gramless.support.pages import Problem


def undo(
    pictures: Annotated[
        list[Path], typer.Argument(help="Pictures, sidecars, and folders of them.", show_default=False)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
) -> None:
    """Take back every keyword that `predict --to xmp` or `--embed` wrote; what people wrote stays."""
    from gramless.pictures.datasets import find_written
    from gramless.pictures.metadata.writing import take_back_all

    found = find_written(pictures)
    problems: list[Problem] = []
    with WritingsShown(dry_run) as shown:
        for place in found.places:
            done, failed = take_back_all([place], dry=dry_run)
            shown.add(writing for writing in done if writing.changes)  # one by one, as in `predict`
            problems += failed
    list_problems("Not looked at", found.problems)
    list_problems("Left as they are", problems)
