"""The command line, `gramless`: one file per command."""

from __future__ import annotations

from typing import Annotated

import typer

from gramless.cli.demo import show_demo
from gramless.version import __version__

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
app.command("demo")(show_demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Deep kernels without the Gram matrix."""


__all__ = ["app"]
