"""`gramless annotate evaluate`: how good a model's keywords are on pictures whose keywords are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.columns import Columns
from rich.console import Console

from gramless.cli.annotate_inputs import (
    CacheFolder,
    Gallery,
    KeywordFile,
    ModelFile,
    load_annotator,
    opened,
    read_pictures,
)
from gramless.cli.outputs import require_writable_file, writing
from gramless.cli.problems import list_problems
from gramless.heads.operating_points import OperatingPoint, best_recall_weight
from gramless.pictures.annotation import Judgement, judge
from gramless.pictures.gallery import save_gallery
from gramless.pictures.tables import curve_table, figures_of, scores_table
from gramless.support.atomic import write_atomically


def evaluate(
    model: ModelFile,
    pictures: Annotated[
        Path, typer.Argument(help="Folder of pictures; of COREL5k its test part is used.", show_default=False)
    ],
    keywords: KeywordFile = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Keywords per picture. Without it: as the model was made for.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="Write all numbers there.")
    ] = None,
    gallery: Gallery = None,
    cache: CacheFolder = None,
) -> None:
    """Compare a model's keywords with those that people gave."""
    require_writable_file(output, "-o", inputs=[model, keywords])
    require_writable_file(gallery, "--gallery", inputs=[model, keywords])
    annotator = load_annotator(model)
    annotated = read_pictures(pictures, keywords, "test")
    with opened(cache) as rows:
        judgement = judge(annotator, annotated, top=top, cache=rows)
    points = annotator.classifier.operating_points_
    Console().print(Columns([scores_table(judgement), curve_table(points)], padding=(0, 4)))
    if output is not None:
        content = _numbers(judgement, points)
        with writing(output):
            write_atomically(output, lambda file: file.write(content.encode()))
        typer.echo(f"numbers: {output}")
    if gallery is not None:
        with writing(gallery):
            save_gallery(gallery, judgement.annotations, "Keywords compared with people's", figures_of(judgement))
        typer.echo(f"gallery: {gallery}")
    list_problems("Not used, or doubtful", (*annotated.problems, *judgement.problems))


def _numbers(judgement: Judgement, points: Sequence[OperatingPoint]) -> str:
    content = asdict(judgement.scores) | {
        "map_pictures": judgement.map_pictures,
        "map_keywords": judgement.map_keywords,
        "n_pictures": len(judgement.annotations),
        "n_keywords": judgement.n_keywords,
        "validation": [asdict(point) for point in points],
        "chosen_recall_weight": best_recall_weight(tuple(points)),
    }
    return json.dumps(content, indent=1) + "\n"
