"""`gramless annotate undo`: take the machine's keywords back, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gramless.cli.problems import list_problems
from gramless.cli.written import show_writings


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
    done, failed = take_back_all(found.places, dry=dry_run)
    show_writings([writing for writing in done if writing.changes], dry_run=dry_run)
    list_problems("Not looked at", [*found.problems, *failed])
