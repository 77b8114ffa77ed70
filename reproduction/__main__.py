"""`python -m reproduction`: the paper's tables and figures, computed anew and put beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gramless.cli.annotate_inputs import opened
from gramless.cli.outputs import require_writable_folder, writing
from gramless.cli.problems import INTERRUPTED, ExplainingGroup, refuse, say, stop
from gramless.support.packages import needed
from reproduction.corel5k import FeatureSet, check_source, open_corel5k, plan_corel5k
from reproduction.imageclef import plan_imageclef
from reproduction.imageclef_files import open_imageclef
from reproduction.report import Reproduction, write_reproduction

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="The paper's tables and figures, beside ours.",
)


class Features(StrEnum):
    """Views of pictures: the fifteen handcrafted ones, these and a trained network's, or one after the other."""

    handcrafted = "handcrafted"
    learned = "learned"
    both = "both"


SETS: dict[Features, tuple[FeatureSet, ...]] = {
    Features.handcrafted: ("handcrafted",),
    Features.learned: ("learned",),
    Features.both: ("handcrafted", "learned"),
}
OutFolder = Annotated[
    Path, typer.Option(help="Folder for the report and all that is computed; it can be used again.", show_default=False)
]
Seeds = Annotated[
    int, typer.Option(min=1, help="How often what is random is repeated; with --quick, or on made-up features, once.")
]
Quick = Annotated[bool, typer.Option("--quick", help="The main figures, in minutes.")]


@app.command()
def corel5k(
    out: OutFolder,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of COREL5k. Not needed where OUT has its features already.", show_default=False),
    ] = None,
    features: Annotated[
        Features, typer.Option(help="Views of pictures: the paper's main tables are on handcrafted ones.")
    ] = Features.handcrafted,
    seeds: Seeds = 3,
    quick: Quick = False,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Features by content. Without it: OUT/cache", show_default=False),
    ] = None,
) -> None:
    """COREL5k: every table and figure; an interrupted run continues where it stopped."""
    _check_packages()
    sets = SETS[features]
    check_source(data, out, sets)
    require_writable_folder(out, "--out")
    with _continuing(out):
        with opened(cache or out / "cache") as rows:
            pictures = open_corel5k(data, out, sets, rows)
        experiment = plan_corel5k(pictures, out, sets, seeds, quick=quick)
        images = None if data is None else data / "images"
        try:
            experiment.run(say)
        finally:  # also of what an interrupted run has computed
            _write(experiment.report(images), out)


@app.command()
def imageclef(
    out: OutFolder,
    data: Annotated[Path | None, typer.Option(help="Folder of ImageCLEF 2013's files.", show_default=False)] = None,
    generated: Annotated[
        bool, typer.Option("--generated", help="Tables at scale, up to 100,000 samples, on made-up features.")
    ] = False,
    seeds: Seeds = 3,
    quick: Quick = False,
) -> None:
    """ImageCLEF: every table and figure, from its files or at its scale on made-up features."""
    _check_packages()
    if data is None and not generated:
        refuse("Give --data, the folder of ImageCLEF's files, or --generated for made-up features.")
    pictures = None if data is None else open_imageclef(data)
    require_writable_folder(out, "--out")
    with _continuing(out):
        experiment = plan_imageclef(pictures, out, seeds, generated=generated, quick=quick)
        try:
            experiment.run(say)
        finally:
            _write(experiment.report(), out)


def _check_packages() -> None:
    """Refuse before hours of work what the report could not be written without."""
    for package in ("jinja2", "matplotlib"):
        needed(package)


@contextmanager
def _continuing(out: Path) -> Iterator[None]:
    """Says after Ctrl-C that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        stop(f"Interrupted; what was computed is in {out}, and the same command continues.", INTERRUPTED)


def _write(report: Reproduction, out: Path) -> None:
    with writing(out):
        for path in write_reproduction(report, out):
            typer.echo(f"report: {path}")


if __name__ == "__main__":
    app.info.cls = ExplainingGroup
    app(prog_name="python -m reproduction")
