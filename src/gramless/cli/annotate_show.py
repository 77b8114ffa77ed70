"""`gramless annotate show`: what a model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gramless.cli.annotate_inputs import ModelFile
from gramless.cli.outputs import require_writable_file, save_output


def show(
    model: ModelFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.png", help="Draw the shares of views and kernels there."),
    ] = None,
) -> None:
    """What a model has learned: its keywords, and the views and kernels that it looks at."""
    from gramless.figures.drawing import save_weights_figure
    from gramless.figures.learned_weights import weights_table
    from gramless.pictures.annotation import load_annotator
    from gramless.pictures.tables import facts_of, facts_table, keyword_columns

    require_writable_file(output, "-o", inputs=[model])
    annotator = load_annotator(model)
    kernel = annotator.classifier.map_network_.kernel_
    console = Console()
    console.print(facts_table(facts_of(annotator)), "")
    console.print(keyword_columns(annotator), "")
    console.print(weights_table(kernel))
    save_output("picture", output, lambda file: save_weights_figure(kernel, file))
