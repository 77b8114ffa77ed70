"""`gramless demo`: run the demo, or with --pictures that of annotation, print its tables, save what is made."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gramless.cli.outputs import require_writable_folder
from gramless.cli.problems import INTERRUPTED, say, stop
from gramless.support.atomic import write_atomically
from gramless.support.packages import MissingPackageError, needed
from gramless.support.progress import ProgressBar

if TYPE_CHECKING:
    from gramless.demo.experiment import Step
    from gramless.demo.result import DemoResult


def show_demo(
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Keywords for drawn scenes instead, in about two minutes.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for what is made. Without it: out/demo, or out/pictures.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
) -> None:
    """Deep kernels and their maps on handwritten digits, in under a minute."""
    out = out or Path("out/pictures" if pictures else "out/demo")
    require_writable_folder(out, "--out")
    if pictures:
        _show_pictures_demo(out, seed)
    else:
        _show_digits_demo(out, seed)


def _show_digits_demo(out: Path, seed: int) -> None:
    from gramless.demo.experiment import run_demo

    can_draw = True
    try:
        needed("matplotlib")
    except MissingPackageError as error:
        can_draw = False
        say(f"There will be no picture: {error}")
    numbers, picture = out / "results.json", out / "demo.png"
    display = DemoDisplay(Console())
    try:
        with display:
            display.measured = result = run_demo(seed, display.show)
        _save_numbers(numbers, result)
        typer.echo(f"numbers: {numbers}")
        if can_draw:
            from gramless.demo.figure import save_figure  # needs Matplotlib, which is an optional extra

            write_atomically(picture, lambda file: save_figure(result, file))
            typer.echo(f"picture: {picture}")
        typer.echo(f"measured in {result.seconds:.0f} s")
    except KeyboardInterrupt:
        if display.measured is None or not display.measured.accuracies:
            stop("Interrupted before anything was measured.", INTERRUPTED)
        _save_numbers(numbers, display.measured)
        stop(f"Interrupted; what was measured so far: {numbers}", INTERRUPTED)


def _save_numbers(file: Path, result: DemoResult) -> None:
    write_atomically(file, lambda opened: opened.write(result.to_json().encode()))


class DemoDisplay:
    """A bar while a part is measured, its table once it is; remembers what was measured so far."""

    def __init__(self, console: Console) -> None:
        self.measured: DemoResult | None = None
        self._console = console
        self._bars = ExitStack()
        self._bar: ProgressBar | None = None

    def __enter__(self) -> DemoDisplay:
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.close()

    def show(self, step: Step) -> None:
        from gramless.demo.result import TABLES

        self.measured = step.result
        if step.done == 0:
            self._bar = self._bars.enter_context(ProgressBar(step.part.value, step.total))
        elif self._bar is not None:
            self._bar.advance()
        if step.done == step.total:
            self._bars.close()
            self._console.print(TABLES[step.part](step.result), "")


def _show_pictures_demo(out: Path, seed: int) -> None:
    from gramless.figures.learned_weights import weights_table
    from gramless.pictures.demo import run_pictures_demo
    from gramless.pictures.tables import keyword_table, quality_table

    try:
        done = run_pictures_demo(out, seed, tell=lambda stage: say(f"{stage} ..."))
    except KeyboardInterrupt:
        stop(f"Interrupted; what was computed is in {out} and will be used next time.", INTERRUPTED)
    quality = done.judgement.quality
    console = Console()
    console.print(weights_table(done.annotator.classifier.map_network_.kernel_))
    console.print(quality_table(quality, f"On {quality.n_pictures:,} unseen scenes"), keyword_table(quality))
    typer.echo(f"gallery: {done.gallery}")
    typer.echo(f"weights: {done.weights}")
    typer.echo(f"made in {done.seconds:.0f} s\n\nTry next:")
    typer.echo(f"  gramless annotate predict {done.model} {done.unseen_scene}")
    typer.echo(f"  gramless annotate show {done.model}")
    typer.echo(f"  gramless serve {done.model}")
