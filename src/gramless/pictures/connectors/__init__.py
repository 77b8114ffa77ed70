"""Other programs' ways of asking for keywords, one file each: `python -m gramless.pictures.connectors.NAME --help`."""

from __future__ import annotations

from collections.abc import Callable

import typer

from gramless.errors import GramlessError


def run_command(main: Callable[..., None]) -> None:
    """What `python -m` is asked for; what is wrong with it is said in words."""
    try:
        typer.run(main)
    except (GramlessError, OSError) as error:
        typer.echo(str(error), err=True)
        raise SystemExit(1) from error
