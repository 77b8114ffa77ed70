"""`gramless demo --pictures`: run the demo of annotation, print its tables, say what to try next."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from gramless.cli.problems import INTERRUPTED, say, stop
from gramless.figures.learned_weights import weights_table
from gramless.pictures.demo import DemoFiles, run_pictures_demo
from gramless.pictures.tables import keyword_table, quality_table


def show_pictures_demo(out: Path, seed: int) -> None:
    """In the folder `out`, which can be written to."""
    files = DemoFiles(out, seed)
    try:
        done = run_pictures_demo(files, tell=lambda stage: say(f"{stage} ..."))
    except KeyboardInterrupt:
        stop(f"Interrupted; what was computed is in {out} and will be used next time.", INTERRUPTED)
    quality = done.judgement.quality
    console = Console()
    console.print(weights_table(done.annotator.classifier.map_network_.kernel_))
    console.print(quality_table(quality, f"On {quality.n_pictures:,} unseen scenes"), keyword_table(quality))
    typer.echo(f"gallery: {files.gallery}")
    typer.echo(f"weights: {files.weights}")
    typer.echo(f"made in {done.seconds:.0f} s\n\nTry next:")
    typer.echo(f"  gramless annotate predict {files.model} {done.unseen_scene}")
    typer.echo(f"  gramless annotate show {files.model}")
    typer.echo(f"  gramless serve {files.model}")
