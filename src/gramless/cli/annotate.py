"""`gramless annotate`: the commands about keywords of pictures."""

from __future__ import annotations

import typer

from gramless.cli.annotate_evaluate import evaluate
from gramless.cli.annotate_fit import fit
from gramless.cli.annotate_predict import predict
from gramless.cli.annotate_show import show
from gramless.cli.annotate_watch import watch

annotate = typer.Typer(no_args_is_help=True, help="Keywords for pictures, learned from your own.")
for command in (fit, predict, evaluate, show, watch):
    annotate.command()(command)
