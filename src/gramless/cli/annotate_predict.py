"""`gramless annotate predict`: keywords of pictures, as a table, a file, or beside the pictures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gramless.cli.annotate_inputs import CacheFolder, Gallery, ModelFile, load_annotator, opened
from gramless.cli.outputs import require_writable_file, writing
from gramless.cli.problems import FAILED, list_problems, refuse
from gramless.errors import GramlessError
from gramless.pictures.annotation import Annotation, Answers
from gramless.pictures.annotation.forms import annotation_table, as_csv, as_json, check_csv_keywords
from gramless.pictures.annotation.xmp import write_sidecars
from gramless.pictures.datasets import Problem, find_pictures
from gramless.pictures.gallery import save_gallery
from gramless.support.atomic import write_atomically


class Form(StrEnum):
    """What keywords are written as."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    XMP = "xmp"


def predict(
    model: ModelFile,
    pictures: Annotated[list[Path], typer.Argument(help="Pictures, and folders of pictures.", show_default=False)],
    top: Annotated[
        int | None, typer.Option(min=1, help="Keywords per picture. Without it: as the model was made for.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Instead: all keywords with at least this probability.")
    ] = None,
    to: Annotated[
        Form, typer.Option(help="A table; a CSV or JSON file; or XMP sidecar files beside the pictures.")
    ] = Form.TABLE,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File for CSV or JSON. Without it: the terminal."),
    ] = None,
    gallery: Gallery = None,
    cache: CacheFolder = None,
) -> None:
    """Give pictures keywords."""
    if top is not None and threshold is not None:
        refuse("--top and --threshold both came. Give a number of keywords, or a probability.")
    if output is not None and to in (Form.TABLE, Form.XMP):
        refuse(
            f"-o {output}: --to {to.value} writes no file of that kind. Add --to csv or --to json, or leave -o away."
        )
    require_writable_file(output, "-o", inputs=[model, *pictures])
    require_writable_file(gallery, "--gallery", inputs=[model, *pictures])
    annotator = load_annotator(model)
    if to is Form.CSV:
        check_csv_keywords(annotator.keywords)  # before the work
    found = find_pictures(pictures)
    if not found.paths:
        list_problems("Not read", found.problems)
        raise GramlessError(f"there are no pictures in {', '.join(map(str, pictures))}.")
    with opened(cache) as rows:
        parts = []
        for part in annotator.stream(found.paths, found.names, top=top, threshold=threshold, cache=rows):
            parts.append(part)
            if to is Form.TABLE and part.annotations:  # the first ones at once
                Console().print(annotation_table(part.annotations))
    answers = Answers.joined(parts)
    problems = _write(answers, to, output)
    if gallery is not None:
        _save_gallery(gallery, answers.annotations)
    unreadable = [Problem(name, reason) for name, reason in answers.unreadable.items()]
    list_problems("Not used", [*found.problems, *unreadable, *problems])
    if not answers.annotations:
        raise typer.Exit(FAILED)


def _write(answers: Answers, to: Form, output: Path | None) -> list[Problem]:
    """Where the user wants it; what could not be written comes back."""
    if to is Form.XMP:
        return _write_beside(answers.annotations)
    if to is not Form.TABLE:
        content = as_csv(answers.annotations) if to is Form.CSV else as_json(answers.annotations, answers.unreadable)
        if output is None:
            sys.stdout.buffer.write(content)
        else:
            with writing(output):
                write_atomically(output, lambda file: file.write(content))
            typer.echo(f"keywords of {len(answers.annotations):,} pictures: {output}")
    return []


def _write_beside(annotations: Sequence[Annotation]) -> list[Problem]:
    failed = write_sidecars(annotations)
    n_with = sum(bool(annotation.keywords) for annotation in annotations)
    n_written = n_with - len(failed)
    have = "picture has its keywords beside it" if n_written == 1 else "pictures have their keywords beside them"
    typer.echo(f"{n_written:,} {have}, in files that end in .xmp")
    return [Problem(str(path), reason) for path, reason in failed]


def _save_gallery(gallery: Path, annotations: Sequence[Annotation]) -> None:
    with writing(gallery):
        save_gallery(gallery, annotations, "Keywords for pictures", {})
    typer.echo(f"gallery: {gallery}", err=True)
