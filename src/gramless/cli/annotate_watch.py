"""`gramless annotate watch`: keywords for pictures as they arrive in a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from gramless.cli.annotate_inputs import ModelFile, load_annotator
from gramless.cli.problems import list_problems
from gramless.errors import GramlessError
from gramless.support.pages import printable


def watch(
    model: ModelFile,
    folder: Annotated[Path, typer.Argument(help="The folder that pictures arrive in.", show_default=False)],
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between two looks.")] = 5.0,
    all_: Annotated[bool, typer.Option("--all", help="Begin with the pictures that are there already.")] = False,
) -> None:
    """Write keywords beside new pictures, as `predict --to xmp` does, until Ctrl-C."""
    from gramless.pictures.annotation.forms import write_metadata
    from gramless.pictures.arrivals import Arrivals
    from gramless.pictures.datasets import Problem, find_pictures
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
                list_problems("Not written", [*unreadable, *(Problem(str(path), why) for path, why in failed)])
            time.sleep(every)
    except KeyboardInterrupt:
        typer.echo("Stopped.")
