"""`gramless serve`: a page to which people drop pictures."""

from __future__ import annotations

from typing import Annotated

import typer

from gramless.cli.annotate_inputs import ModelFile, load_annotator
from gramless.pictures.page import serve


def serve_page(
    model: ModelFile,
    host: Annotated[str, typer.Option(help="Address to serve at; the default lets nobody else in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8765,
) -> None:
    """A page that shows keywords of the pictures dropped on it."""
    serve(load_annotator(model), host, port)
