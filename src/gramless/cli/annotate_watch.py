"""`gramless annotate watch`: keywords for pictures as they arrive in a folder."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from gramless.cli.annotate_inputs import ModelFile
from gramless.cli.problems import list_problems
from gramless.errors import GramlessError
from gramless.support.pages import Problem, printable

Stamp = tuple[int, int]
"""When a file was changed, and how large it is."""


def watch(
    model: ModelFile,
    folder: Annotated[Path, typer.Argument(help="The folder that pictures arrive in.", show_default=False)],
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between two looks.")] = 5.0,
    all_: Annotated[bool, typer.Option("--all", help="Begin with the pictures that are there already.")] = False,
) -> None:
    """Write keywords beside new pictures, as `predict --to xmp` does, until Ctrl-C."""
    from gramless.pictures.annotation import load_annotator
    from gramless.pictures.annotation.forms import write_metadata
    from gramless.pictures.datasets import find_pictures
    from gramless.pictures.datasets.picture_files import shown_name

    if not folder.is_dir():
        raise GramlessError(f"{folder} is not a folder, or may not be read. Give the folder that pictures arrive in.")
    annotator = load_annotator(model)
    arrivals = Arrivals()
    if not all_:
        arrivals.pass_over(find_pictures([folder]).paths)
    typer.echo(f"Watching {printable(str(folder))} (Ctrl-C stops it)")
    try:
        while True:
            paths = arrivals.look(find_pictures([folder]).paths)
            if paths:
                names = [shown_name(path.relative_to(folder)) for path in paths]
                answers = annotator.annotate(paths, names)
                _, failed = write_metadata(answers.annotations, model.name, "beside")
                for annotation in answers.annotations:
                    typer.echo(printable(f"{annotation.name}: {', '.join(annotation.keywords) or 'no keywords'}"))
                unreadable = [Problem(name, reason) for name, reason in answers.unreadable.items()]
                list_problems("Not written", [*unreadable, *failed])
            time.sleep(every)
    except KeyboardInterrupt:
        typer.echo("Stopped.")


class Arrivals:
    """Looks at files again and again, and gives each once, when it has not changed between two looks.

    A file that is copied grows from look to look; one that was changed later arrives anew.
    """

    def __init__(self) -> None:
        self._seen: dict[Path, Stamp] = {}
        self._given: dict[Path, Stamp] = {}

    def pass_over(self, paths: Iterable[Path]) -> None:
        """These are no arrivals, as they are now."""
        self._seen = _stamps(paths)
        self._given = dict(self._seen)

    def look(self, paths: Iterable[Path]) -> list[Path]:
        """Those that have arrived since the last look."""
        now = _stamps(paths)
        arrived = [path for path, stamp in now.items() if self._seen.get(path) == stamp != self._given.get(path)]
        self._seen = now
        self._given = {path: stamp for path, stamp in self._given.items() if path in now}
        self._given |= {path: now[path] for path in arrived}
        return arrived


def _stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    stamps = {}
    for path in paths:
        try:
            status = path.stat()
        except OSError:  # gone already
            continue
        stamps[path] = (status.st_mtime_ns, status.st_size)
    return stamps
