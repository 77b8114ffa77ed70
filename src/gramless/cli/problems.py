"""What went wrong, for people: one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import errno
import io
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from gramless.errors import GramlessError
from gramless.support.pages import Problem, printable

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130
MOST_LISTED = 50
ADVICE = {
    errno.ENOENT: "Check the path.",
    errno.EACCES: "Change its permissions, or name another place.",
    errno.EROFS: "Name another place.",
    errno.ENOSPC: "The disk is full: make room, or name a place on another disk.",
}


class ExplainingGroup(TyperGroup):
    """Commands whose errors and warnings are for people: whatever was foreseen ends in one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(
                errors="replace"
            )  # a terminal without some letter shows ?, and the answer all the same
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning  # type: ignore[assignment]  # takes whatever comes after the message
            try:
                return super().invoke(ctx)
            except GramlessError as error:
                stop(str(error))
            except OSError as error:
                if error.errno == errno.EPIPE:  # whoever read the output has had enough; Typer ends quietly
                    raise
                stop(explained(error))
            except KeyboardInterrupt:
                stop("Interrupted.", INTERRUPTED)


def explained(error: OSError) -> str:
    """What the operating system says of which file, and what to do about it."""
    if error.strerror is None:
        return str(error)
    about = f"{error.filename}: " if error.filename else ""
    return f"{about}{error.strerror}. {ADVICE.get(error.errno or 0, '')}".rstrip()


def say(message: str) -> None:
    """One line on stderr."""
    typer.echo(printable(" ".join(message.split())), err=True)


def stop(message: str, code: int = FAILED) -> NoReturn:
    """Say why, and end with an exit code."""
    say(message)
    raise typer.Exit(code)


def refuse(message: str) -> NoReturn:
    """What was asked for cannot be, and nothing was begun."""
    stop(message, WRONG_USE)


def list_problems(title: str, problems: Sequence[Problem]) -> None:
    """By name and with the reason, on stderr; of very many the first ones, and how many more there are."""
    if not problems:
        return
    say(f"{title} ({len(problems):,}):")
    for name, reason in problems[:MOST_LISTED]:
        typer.echo(f"  {printable(name)}: {printable(reason)}", err=True)
    if len(problems) > MOST_LISTED:
        typer.echo(f"  and {len(problems) - MOST_LISTED:,} more", err=True)


def _say_warning(message: Warning | str, *where: object) -> None:
    say(f"Warning: {message}")
