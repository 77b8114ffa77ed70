"""`gramless annotate predict`: keywords of pictures, as a table, a file, beside the pictures, or in them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gramless.cli.annotate_inputs import (
    CacheFolder,
    Gallery,
    LeastProbability,
    ModelFile,
    Precision,
    Top,
    load_annotator,
    opened,
    require_one_choice,
)
from gramless.cli.outputs import require_writable_file, writing
from gramless.cli.problems import FAILED, list_problems, refuse
from gramless.cli.written import show_writings
from gramless.errors import GramlessError
from gramless.pictures.annotation import Annotation, Answers
from gramless.pictures.annotation.forms import annotation_table, as_csv, as_json, check_csv_keywords, write_metadata
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
    top: Top = None,
    threshold: LeastProbability = None,
    precision: Precision = None,
    to: Annotated[
        Form, typer.Option(help="A table; a CSV or JSON file; or XMP sidecar files beside the pictures.")
    ] = Form.TABLE,
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
    require_one_choice(top, threshold, precision)
    _check_form(to, embed, dry_run, output)
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
        for part in annotator.stream(
            found.paths, found.names, top=top, threshold=threshold, precision=precision, cache=rows
        ):
            parts.append(part)
            if to is Form.TABLE and not embed and part.annotations:  # the first ones at once
                Console().print(annotation_table(part.annotations))
    answers = Answers.joined(parts)
    if embed or to is Form.XMP:
        problems = _write_metadata(answers.annotations, model.name, embed, dry_run)
    else:
        problems = _write(answers, to, output)
    if gallery is not None:
        _save_gallery(gallery, answers.annotations)
    unreadable = [Problem(name, reason) for name, reason in answers.unreadable.items()]
    list_problems("Not used", [*found.problems, *unreadable, *problems])
    if not answers.annotations:
        raise typer.Exit(FAILED)


def _check_form(to: Form, embed: bool, dry_run: bool, output: Path | None) -> None:
    if embed and to in (Form.CSV, Form.JSON):
        refuse(f"--embed writes into the pictures, and --to {to.value} a file. Give one of them.")
    if dry_run and not embed and to is not Form.XMP:
        refuse("--dry-run shows what would change in files. Add --to xmp or --embed, or leave it away.")
    if output is not None and (embed or to in (Form.TABLE, Form.XMP)):
        refuse(
            f"-o {output}: {'--embed' if embed else f'--to {to.value}'} writes no file of that kind. Add --to csv or "
            "--to json, or leave -o away."
        )


def _write(answers: Answers, to: Form, output: Path | None) -> list[Problem]:
    """Where the user wants it; a table is there already."""
    if to is Form.TABLE:
        return []
    content = as_csv(answers.annotations) if to is Form.CSV else as_json(answers.annotations, answers.unreadable)
    if output is None:
        sys.stdout.buffer.write(content)
    else:
        with writing(output):
            write_atomically(output, lambda file: file.write(content))
        typer.echo(f"keywords of {len(answers.annotations):,} pictures: {output}")
    return []


def _write_metadata(annotations: Sequence[Annotation], model: str, embed: bool, dry_run: bool) -> list[Problem]:
    """Into the pictures or their sidecars; what could not be written is returned."""
    done, failed = write_metadata(annotations, model, "inside" if embed else "beside", dry=dry_run)
    show_writings(done, dry_run=dry_run)
    return [Problem(str(path), reason) for path, reason in failed]


def _save_gallery(gallery: Path, annotations: Sequence[Annotation]) -> None:
    with writing(gallery):
        save_gallery(gallery, annotations, "Keywords for pictures", {})
    typer.echo(f"gallery: {gallery}", err=True)
