"""The command line, `gramless`: one file per command, which imports what it computes with when it is run."""

from __future__ import annotations

from typing import Annotated

import typer

from gramless.cli.annotate_evaluate import evaluate
from gramless.cli.annotate_fit import fit
from gramless.cli.annotate_predict import predict
from gramless.cli.annotate_show import show
from gramless.cli.annotate_undo import undo
from gramless.cli.annotate_watch import watch
from gramless.cli.demo import show_demo
from gramless.cli.problems import ExplainingGroup
from gramless.cli.serve import serve_page
from gramless.version import __version__

annotate = typer.Typer(no_args_is_help=True)
for command in (fit, predict, evaluate, undo, watch, show):
    annotate.command()(command)

app = typer.Typer(cls=ExplainingGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
app.command("demo")(show_demo)
app.command("serve")(serve_page)
app.add_typer(annotate, name="annotate", help="Keywords for pictures, learned from your own.")


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
