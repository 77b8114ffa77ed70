"""`gramless annotate predict`: keywords of pictures, as a table, a file, beside the pictures, or in them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gramless.cli.annotate_inputs import (
    CacheFolder,
    Gallery,
    LeastProbability,
    ModelFile,
    Top,
    WantedPrecision,
    one_choice,
    opened,
)
from gramless.cli.outputs import require_writable_file, writing
from gramless.cli.problems import FAILED, list_problems, refuse
from gramless.cli.written import WritingsShown
from gramless.errors import GramlessError
from gramless.support.atomic import write_atomically
from gramless.support.pages import Problem

if TYPE_CHECKING:
    from gramless.pictures.annotation import Annotation, Answers
    from gramless.pictures.metadata.writing import Place


class OutputFormat(StrEnum):
    """What keywords are written as."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    XMP = "xmp"


def predict(
    model: ModelFile,
    pictures: Annotated[list[Path], typer.Argument(help="Pictures, and folders of pictures.", show_default=False)],
    top: Top = None,
    threshold: LeastProbability = None,
    precision: WantedPrecision = None,
    to: Annotated[
        OutputFormat, typer.Option(help="A table; a CSV or JSON file; or XMP sidecar files beside the pictures.")
    ] = OutputFormat.TABLE,
    embed: Annotated[
        bool, typer.Option("--embed", help="Write keywords into JPEG and PNG files, not beside them.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --to xmp or --embed: show what would change, and change nothing.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File for CSV or JSON. Without it: the terminal."),
    ] = None,
    gallery: Gallery = None,
    cache: CacheFolder = None,
) -> None:
    """Give pictures keywords.

    What is written beside them or in them, `gramless annotate undo` takes back.
    """
    from gramless.pictures.annotation import load_annotator
    from gramless.pictures.annotation.forms import annotation_table, check_csv_keywords
    from gramless.pictures.datasets import find_pictures

    how = one_choice(top, threshold, precision)
    _check_format(to, embed, dry_run, output)
    require_writable_file(output, "-o", inputs=[model, *pictures])
    require_writable_file(gallery, "--gallery", inputs=[model, *pictures])
    annotator = load_annotator(model)
    if to is OutputFormat.CSV:
        check_csv_keywords(annotator.keywords)  # before the work
    found = find_pictures(pictures)
    if not found.paths:
        list_problems("Not read", found.problems)
        places = ", ".join(map(str, pictures))
        raise GramlessError(f"there are no pictures in {places}. Give pictures, or the folder that they are in.")
    answered = Answered()
    with opened(cache) as rows:
        parts = answered.noting(
            annotator.stream(found.paths, found.names, cache=rows, **how),
            keep=gallery is not None,
        )
        if embed or to is OutputFormat.XMP:
            _write_metadata(parts, answered, model.name, embed, dry_run)
        elif to is OutputFormat.TABLE:
            for part in parts:
                if part.annotations:
                    Console().print(annotation_table(part.annotations))
        else:
            _write(parts, answered, to, output)
    if gallery is not None:
        _save_gallery(gallery, answered.kept)
    list_problems("Not used", [*found.problems, *answered.problems])
    if len(answered.not_written) == answered.n_pictures:  # of none, or nowhere: a folder may be closed
        raise typer.Exit(FAILED)


class Answered:
    """What is remembered of answers that pass by: no more of a folder than is needed at the end."""

    def __init__(self) -> None:
        self.n_pictures = 0
        self.unreadable: dict[str, str] = {}
        self.not_written: list[Problem] = []
        self.kept: list[Annotation] = []

    @property
    def problems(self) -> list[Problem]:
        return [*(Problem(name, reason) for name, reason in self.unreadable.items()), *self.not_written]

    def noting(self, parts: Iterable[Answers], keep: bool) -> Iterator[Answers]:
        """The same answers; with `keep` the annotations stay here as well."""
        for part in parts:
            self.n_pictures += len(part.annotations)
            self.unreadable |= part.unreadable
            if keep:
                self.kept += part.annotations
            yield part


def _check_format(to: OutputFormat, embed: bool, dry_run: bool, output: Path | None) -> None:
    if embed and to in (OutputFormat.CSV, OutputFormat.JSON):
        refuse(f"--embed writes into the pictures, and --to {to.value} a file. Give one of them.")
    if dry_run and not embed and to is not OutputFormat.XMP:
        refuse("--dry-run shows what would change in files. Add --to xmp or --embed, or leave it away.")
    if output is not None and (embed or to in (OutputFormat.TABLE, OutputFormat.XMP)):
        refuse(
            f"-o {output}: {'--embed' if embed else f'--to {to.value}'} writes no file of that kind. Add --to csv or "
            "--to json, or leave -o away."
        )


def _write(parts: Iterable[Answers], answered: Answered, to: OutputFormat, output: Path | None) -> None:
    """To the terminal as they come, or into a file that is whole or not there."""
    from gramless.pictures.annotation.forms import csv_lines, json_lines

    annotations = (annotation for part in parts for annotation in part.annotations)
    lines = csv_lines(annotations) if to is OutputFormat.CSV else json_lines(annotations, answered.unreadable)
    if output is None:
        for line in lines:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()  # whoever reads on has the first answers at once
    else:
        with writing(output):
            write_atomically(output, lambda file: file.writelines(lines))
        typer.echo(f"keywords of {answered.n_pictures:,} pictures: {output}")


def _write_metadata(parts: Iterable[Answers], answered: Answered, model: str, embed: bool, dry_run: bool) -> None:
    """Into the pictures or their sidecars, as the answers come."""
    from gramless.pictures.annotation.forms import write_metadata

    place: Place = "inside" if embed else "beside"
    with WritingsShown(dry_run) as shown:
        for annotation in (annotation for part in parts for annotation in part.annotations):
            done, failed = write_metadata([annotation], model, place, dry=dry_run)
            shown.add(done)  # one by one, so that whoever interrupts is told of all that was written
            answered.not_written += failed


def _save_gallery(gallery: Path, annotations: Sequence[Annotation]) -> None:
    from gramless.pictures.gallery import save_gallery

    with writing(gallery):
        save_gallery(gallery, annotations, "Keywords for pictures", {})
    typer.echo(f"gallery: {gallery}", err=True)
