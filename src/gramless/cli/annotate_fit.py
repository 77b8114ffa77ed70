"""`gramless annotate fit`: from a folder of annotated pictures to a model file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gramless.cli.annotate_inputs import Folders, KeywordFile, Plot, opened, read_pictures
from gramless.cli.outputs import require_writable_file, save_output, writing
from gramless.cli.problems import INTERRUPTED, list_problems, say, stop
from gramless.support.packages import needed

if TYPE_CHECKING:
    from gramless.pictures.annotation import Annotator

LANDMARKS = 500  # as fit_annotator has it; to ask it for the number would take seconds


def fit(
    pictures: Annotated[
        Path, typer.Argument(help="Folder of pictures; of COREL5k its training part is used.", show_default=False)
    ],
    model: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="File to write.", show_default=False)],
    keywords: KeywordFile = None,
    folders: Folders = False,
    views: Annotated[
        str, typer.Option(help="standard, learned, handcrafted, both, or names with commas between them: Rgb,Gist.")
    ] = "standard",
    landmarks: Annotated[
        int, typer.Option(min=1, help="Pictures to compare others with: more are more exact, and slower.")
    ] = LANDMARKS,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep features there. Without it: MODEL.cache", show_default=False),
    ] = None,
    plot: Plot = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
) -> None:
    """Learn your keywords from your pictures."""
    from gramless.pictures.annotation import fit_annotator
    from gramless.storage import save

    started = time.perf_counter()
    names = names_of_views(views)
    require_writable_file(model, "-o", inputs=[keywords])
    require_writable_file(plot, "--plot", inputs=[keywords])
    if plot is not None:
        needed("matplotlib")  # before the work
    annotated = read_pictures(pictures, keywords, "train", folders=folders)
    folder = cache or model.with_name(f"{model.name}.cache")
    try:
        with opened(folder) as rows:
            fitted = fit_annotator(
                annotated, names, cache=rows, n_landmarks=landmarks, seed=seed, tell=lambda stage: say(f"{stage} ...")
            )
        with writing(model):
            save(fitted.annotator, model)
    except KeyboardInterrupt:
        stop(f"Interrupted; features that were computed are in {folder} and will be used next time.", INTERRUPTED)
    _show(fitted.annotator, model, folder, plot, time.perf_counter() - started)
    list_problems("Not used, or doubtful", (*fitted.problems, *annotated.problems))


def names_of_views(views: str) -> tuple[str, ...]:
    """The names of a set of views, or of those that are listed."""
    from gramless.pictures.features import HANDCRAFTED, LEARNED, STANDARD
    from gramless.pictures.features.names import check_names

    sets = {"standard": STANDARD, "learned": LEARNED, "handcrafted": HANDCRAFTED, "both": HANDCRAFTED + LEARNED}
    names = sets.get(views) or tuple(name.strip() for name in views.split(","))
    check_names(names)
    return names


def _show(annotator: Annotator, model: Path, cache: Path, plot: Path | None, seconds: float) -> None:
    from gramless.pictures.tables import facts_of, facts_table, keyword_table, quality_table, reliability_png

    quality = annotator.unseen_quality()
    title = f"On your {quality.n_pictures:,} pictures, each asked of classifiers that had not seen it"
    Console().print(quality_table(quality, title), keyword_table(quality), "", facts_table(facts_of(annotator)))
    save_output("plot", plot, lambda file: file.write(reliability_png(quality.bins)))
    typer.echo(f"model: {model} ({model.stat().st_size / 2**20:.1f} MB, made in {seconds:.0f} s)")
    typer.echo(f"cache: {cache} (makes the next fit faster; it can be deleted)")
