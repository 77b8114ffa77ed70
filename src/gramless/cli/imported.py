"""Commands that are imported when they are run: a list of commands needs none of what they compute with."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperCommand


def add_imported(app: typer.Typer, name: str, function: str, summary: str) -> None:
    """Add the command `name` to a group of commands.

    function : where it is, as gramless.cli.serve:serve_page
    summary : the first line of its docstring, for the list of commands
    """

    class Imported(TyperCommand):
        def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
            return command_of(name, function).make_context(info_name, args, parent, **extra)

    def stand_in() -> None:
        """Never called: the context that is made is the command's own."""

    app.command(name, cls=Imported, help=summary)(stand_in)


def command_of(name: str, function: str) -> Any:
    """The command itself, of a function `module:name`."""
    module, _, attribute = function.partition(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
    alone.command(name)(getattr(importlib.import_module(module), attribute))
    return typer.main.get_command(alone)
