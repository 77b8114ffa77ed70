"""`gramless annotate evaluate`: how good a model's keywords are on pictures whose keywords are known."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gramless.cli.annotate_inputs import (
    CacheFolder,
    Folders,
    Gallery,
    KeywordFile,
    LeastProbability,
    ModelFile,
    Plot,
    Top,
    WantedPrecision,
    one_choice,
    opened,
    read_pictures,
)
from gramless.cli.outputs import require_writable_file, save_output, writing
from gramless.cli.problems import list_problems, say
from gramless.support.packages import needed

if TYPE_CHECKING:
    from gramless.pictures.annotation import Counts, Quality


def evaluate(
    model: ModelFile,
    pictures: Annotated[
        Path, typer.Argument(help="Folder of pictures; of COREL5k its test part is used.", show_default=False)
    ],
    keywords: KeywordFile = None,
    folders: Folders = False,
    top: Top = None,
    threshold: LeastProbability = None,
    precision: WantedPrecision = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="Write all numbers there.")
    ] = None,
    plot: Plot = None,
    gallery: Gallery = None,
    cache: CacheFolder = None,
) -> None:
    """Compare a model's keywords with those that people gave."""
    from gramless.pictures.annotation import judge, load_annotator
    from gramless.pictures.gallery import save_gallery
    from gramless.pictures.tables import figures_of, keyword_table, quality_table, reliability_png

    how = one_choice(top, threshold, precision)
    for file, option in ((output, "-o"), (plot, "--plot"), (gallery, "--gallery")):
        require_writable_file(file, option, inputs=[model, keywords])
    if plot is not None or gallery is not None:
        needed("matplotlib")  # before the work
    annotator = load_annotator(model)
    annotated = read_pictures(pictures, keywords, "test", folders=folders)
    with opened(cache) as rows:
        judgement = judge(annotator, annotated, cache=rows, **how)
    quality = judgement.quality
    Console().print(quality_table(quality, f"On {quality.n_pictures:,} pictures"), keyword_table(quality))
    taught = {annotation.name for annotation in judgement.annotations}.intersection(annotator.album.names)
    if taught:
        say(
            f"{len(taught):,} of these pictures are called as ones that the model was taught on: if they are the same, "
            "the figures are too good. Give pictures that it has not seen; `fit` has judged its own fairly."
        )
    save_output("numbers", output, lambda file: file.write(f"{json.dumps(numbers_of(quality), indent=1)}\n".encode()))
    save_output("plot", plot, lambda file: file.write(reliability_png(quality.bins)))
    if gallery is not None:
        title, figure = "Keywords compared with people's", reliability_png(quality.bins)
        with writing(gallery):
            save_gallery(gallery, judgement.annotations, title, figures_of(quality), figure=figure)
        typer.echo(f"gallery: {gallery}")
    list_problems("Not used, or doubtful", (*judgement.problems, *annotated.problems))


def numbers_of(quality: Quality) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "n_pictures": quality.n_pictures,
        "n_keywords": quality.n_keywords,
        "micro": _counts(quality.counts),
        "macro": asdict(quality.macro),
        "map_pictures": quality.map_pictures,
        "map_keywords": quality.map_keywords,
        "calibration_error": quality.calibration_error,
        "reliability": [found._asdict() for found in quality.bins],
        "keywords": [
            {
                "keyword": row.keyword,
                "learned_from": row.learned_from,
                **_counts(row.counts),
                "calibration_error": row.calibration_error,
            }
            for row in quality.keywords
        ],
        "never_given": list(quality.never_given),
        "never_right": list(quality.never_right),
    }


def _counts(counts: Counts) -> dict[str, float]:
    return asdict(counts) | {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}
