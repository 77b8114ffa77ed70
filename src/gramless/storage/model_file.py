"""One safetensors file per model: arrays, and JSON metadata with everything else."""

from __future__ import annotations

import json
import os
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from gramless.atomic import write_atomically
from gramless.errors import FileFormatError
from gramless.storage.codec import Decoder, Encoder, Functions
from gramless.version import __version__

FORMAT = "gramless"
FORMAT_VERSION = 1


def save(model: Any, path: str | os.PathLike) -> None:
    """Save a DeepKernel or an estimator, fitted or not: every parameter and everything that fit learned.

    The file is written whole or not at all. Functions (custom kernels and activations) are saved by name.
    """
    path, encoder = os.fspath(path), Encoder()
    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "package_version": __version__,
        "model": json.dumps(encoder.encode(model), allow_nan=False),
    }
    content = to_bytes(encoder.arrays, metadata)
    write_atomically(path, lambda file: file.write(content))


def load(path: str | os.PathLike, functions: Functions | None = None) -> Any:
    """Load what save wrote. Nothing from the file is run; functions that it names come from `functions`."""
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no model file at {path!r}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tree = _checked(metadata, path)
            return Decoder(file.get_tensor, functions or {}).decode(tree)
    except SafetensorError as error:
        raise FileFormatError(
            f"{path!r} is truncated, damaged, or no Gramless model ({error}). Save the model again."
        ) from error


def _checked(metadata: dict[str, str], path: str | os.PathLike) -> Any:
    if metadata.get("format") != FORMAT:
        raise FileFormatError(f"{os.fspath(path)!r} is a safetensors file, but no Gramless model.")
    version = metadata.get("format_version", "")
    if not version.isdecimal() or int(version) > FORMAT_VERSION:
        raise FileFormatError(
            f"{os.fspath(path)!r} has format version {version!r}, written by gramless "
            f"{metadata.get('package_version')}; this is gramless {__version__}, which reads up to version "
            f"{FORMAT_VERSION}. Upgrade gramless."
        )
    try:
        return json.loads(metadata["model"])
    except (KeyError, json.JSONDecodeError) as error:
        raise FileFormatError(f"{os.fspath(path)!r} has damaged metadata ({error}).") from error
