"""`gramless demo`: run the demo, print its tables, save its picture and its numbers."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from gramless.atomic import write_atomically
from gramless.progress import ProgressBar
from gramless.report.demo import Step, run_demo
from gramless.report.demo_result import DemoResult
from gramless.report.demo_tables import table_of

WRONG_USE, INTERRUPTED = 2, 130


def show_demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the numbers.")] = Path("out/demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
) -> None:
    """Deep kernels and their maps on handwritten digits, in under a minute."""
    _require_writable(out)
    can_draw = find_spec("matplotlib") is not None
    if not can_draw:
        _say("Matplotlib is missing, so there will be no picture. For one: pip install 'gramless[plots]'")
    display = DemoDisplay(Console())
    try:
        with display:
            display.measured = result = run_demo(seed, display.show)
        _save_numbers(out, result)
        typer.echo(f"numbers: {_numbers(out)}")
        if can_draw:
            typer.echo(f"picture: {_save_picture(out, result)}")
        typer.echo(f"measured in {result.seconds:.0f} s")
    except KeyboardInterrupt:
        _stop(out, display.measured)


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
        self.measured = step.result
        if step.done == 0:
            self._bar = self._bars.enter_context(ProgressBar(step.part.value, step.total))
        elif self._bar is not None:
            self._bar.advance()
        if step.done == step.total:
            self._bars.close()
            self._console.print(table_of(step.part, step.result), "")


def _require_writable(out: Path) -> None:
    """Find out before computing, not after."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        _say(f"--out {out}: cannot write there ({error.strerror}). Give a folder that you may write to.")
        raise typer.Exit(WRONG_USE) from error


def _stop(out: Path, measured: DemoResult | None) -> NoReturn:
    if measured is not None and measured.accuracies:
        _save_numbers(out, measured)
        _say(f"Interrupted; what was measured so far: {_numbers(out)}")
    else:
        _say("Interrupted before anything was measured.")
    raise typer.Exit(INTERRUPTED)


def _save_numbers(out: Path, result: DemoResult) -> None:
    write_atomically(_numbers(out), lambda file: file.write(result.to_json().encode()))


def _save_picture(out: Path, result: DemoResult) -> Path:
    from gramless.report.demo_figure import save_figure  # needs Matplotlib, which is an optional extra

    path = out / "demo.png"
    write_atomically(path, lambda file: save_figure(result, file))
    return path


def _numbers(out: Path) -> Path:
    return out / "results.json"


def _say(message: str) -> None:
    typer.echo(message, err=True)
