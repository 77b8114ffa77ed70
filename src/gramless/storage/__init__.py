"""Saving and loading, without pickle: one safetensors file per model, arrays and JSON with everything else."""

from __future__ import annotations

import json
import os
from typing import Any

from gramless.errors import FileFormatError
from gramless.storage.codec import Decoder, Encoder, Functions, TooMuchMemory
from gramless.storage.storable import register
from gramless.support.array_file import read_array_file, read_json, write_array_file

__all__ = ["load", "register", "save"]

FORM = "gramless"
FORM_VERSION = 2


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a DeepKernel or an estimator, fitted or not: every parameter and everything that fit learned.

    The file is written whole or not at all, and only if load would take it. Functions (custom kernels and activations)
    are saved by name.
    """
    path = os.fspath(path)  # a number would be an open file's
    try:
        encoder, text = _encoded(model, packing=True)
    except TooMuchMemory:
        encoder, text = _encoded(model, packing=False)
    write_array_file(path, FORM, FORM_VERSION, encoder.arrays, {"model": text})


def load(path: str | os.PathLike[str], functions: Functions | None = None) -> Any:
    """Load what save wrote. Nothing from the file is run; functions that it names come from `functions`.

    A file that is damaged, or made to do harm, is refused with FileFormatError; loading takes at most ten times the
    memory of the file, and some megabytes.
    """
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no model file at {path!r}.")
    file = read_array_file(path, FORM, FORM_VERSION)
    try:
        return Decoder(file.arrays, functions or {}, file.n_bytes).model(read_json(file.texts["model"]))
    except Exception as error:  # whatever a class says to what it cannot be made of
        raise FileFormatError(f"{path!r} cannot be loaded: {str(error)[:500] or type(error).__name__}") from error


def _encoded(model: Any, *, packing: bool) -> tuple[Encoder, str]:
    """A model as arrays and JSON, of which it can be made again."""
    encoder = Encoder(packing=packing)
    text = json.dumps(encoder.encode(model), allow_nan=False)
    n_bytes = len(text) + sum(array.nbytes for array in encoder.arrays.values())
    Decoder(encoder.arrays, encoder.functions, n_bytes).model(read_json(text))
    return encoder, text
