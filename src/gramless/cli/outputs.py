"""Where commands write: found out before computing, not after."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import typer

from gramless.cli.problems import explained, refuse
from gramless.errors import GramlessError
from gramless.support.atomic import write_atomically


def require_writable_folder(folder: Path, option: str) -> None:
    """Make the folder if it is not there, and refuse one that cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _try_to_write(folder)
    except OSError as error:
        refuse(f"{option} {folder}: cannot write there ({error.strerror}). Give a folder that you may write to.")


def require_writable_file(file: Path | None, option: str, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse a file that cannot be written, is none (/dev/stdout), or is one of the inputs; None is no file at all."""
    if file is None:
        return
    try:
        if file.exists() and not file.is_file():
            refuse(f"{option} {file}: this is no ordinary file. Give the name of a file to write.")
        if any(given is not None and file.exists() and given.exists() and file.samefile(given) for given in inputs):
            refuse(f"{option} {file}: this file is read, so it is not written over. Give another name.")
        _try_to_write(file.parent)
    except OSError as error:
        refuse(
            f"{option} {file}: cannot write there ({error.strerror}). Give a file in a folder that is there and open."
        )


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Says which file it was that could not be written, as on a full disk, where the system does not say."""
    try:
        yield
    except OSError as error:
        reason = explained(OSError(error.errno, error.strerror))
        raise GramlessError(f"{file} was not written: {reason}") from error


def save_output(what: str, file: Path | None, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill the file, whole or not at all, and say what is where; None is no file at all."""
    if file is not None:
        with writing(file):
            write_atomically(file, write)
        typer.echo(f"{what}: {file}")


def _try_to_write(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder):
        pass
