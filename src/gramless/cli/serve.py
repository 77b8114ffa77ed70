"""`gramless serve`: a page to which people drop pictures, or in which they correct those of a folder."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from gramless.cli.annotate_inputs import ModelFile
from gramless.cli.outputs import require_writable_file
from gramless.cli.problems import list_problems, refuse


def serve_page(
    model: ModelFile,
    folder: Annotated[
        Path | None,
        typer.Argument(help="A folder of pictures to correct, so that the model learns again.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to serve at; the default lets nobody else in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8765,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to save what was learned again. Without it: MODEL-corrected.gramless",
            show_default=False,
        ),
    ] = None,
) -> None:
    """A page that shows keywords of the pictures dropped on it, and in which those of a folder are corrected."""
    from gramless.pictures.annotation import load_annotator
    from gramless.pictures.page import serve

    if folder is None:
        if output is not None:
            refuse(f"-o {output}: nothing is learned without a folder. Name one, or leave -o away.")
        serve(load_annotator(model), host, port)
        return
    output = output or model.with_name(f"{model.stem}-corrected.gramless")
    require_writable_file(output, "-o", inputs=[model])
    annotator = load_annotator(model)
    from gramless.pictures.correcting import OpenFolder

    with closing(OpenFolder(folder, annotator, output, _digest(model))) as opened:
        list_problems("Not shown", opened.listing.problems)
        opened.start()
        serve(opened, host, port, opened)


def _digest(model: Path) -> str:
    with model.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
