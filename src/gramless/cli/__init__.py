"""The command line, `gramless`: one file per command."""

from __future__ import annotations

from typing import Annotated

import typer

from gramless.cli.annotate import annotate
from gramless.cli.demo import show_demo
from gramless.cli.problems import ExplainingGroup
from gramless.cli.serve import serve_page
from gramless.version import __version__

app = typer.Typer(cls=ExplainingGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
app.command("demo")(show_demo)
app.add_typer(annotate, name="annotate")
app.command("serve")(serve_page)


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
