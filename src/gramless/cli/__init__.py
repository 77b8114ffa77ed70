"""The command line, `gramless`: one file per command."""

from __future__ import annotations

from typing import Annotated

import typer

from gramless.cli.annotate import annotate
from gramless.cli.imported import add_imported
from gramless.cli.problems import ExplainingGroup
from gramless.version import __version__

COMMANDS = {
    "demo": ("gramless.cli.demo:show_demo", "Deep kernels and their maps on handwritten digits, in under a minute."),
    "serve": (
        "gramless.cli.serve:serve_page",
        "A page that shows keywords of the pictures dropped on it, and in which those of a folder are corrected.",
    ),
}
"""By name: the function, and the first line of what it says of itself."""

app = typer.Typer(cls=ExplainingGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
app.add_typer(annotate, name="annotate")
for name, (function, summary) in COMMANDS.items():
    add_imported(app, name, function, summary)


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
