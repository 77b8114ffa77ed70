"""The model that a connector asks."""

from __future__ import annotations

from pathlib import Path

from gramless.errors import GramlessError
from gramless.pictures.annotation import Annotator
from gramless.storage import load


def load_annotator(file: Path) -> Annotator:
    """The model of keywords in a file; an error where the file holds something else."""
    model = load(file)
    if not isinstance(model, Annotator):
        raise GramlessError(f"{file} holds a {type(model).__name__}, not a model of keywords.")
    return model
