"""What people see: HTML pages from templates, which of many things are on them, tables, problems, strangers' texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from rich import box
from rich.table import Table

from gramless.support.packages import needed

Item = TypeVar("Item")


class Problem(NamedTuple):
    """Something that a person should know: what it is about, and what is the matter with it."""

    name: str
    reason: str


def render(package: str, template: str, **values: Any) -> str:
    """The page of a template in a package's folder `templates`.

    Whatever is not marked as HTML is escaped, and a value that is missing is an error.
    """
    needed("jinja2")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def spread_evenly(items: Sequence[Item], limit: int) -> list[Item]:
    """At most `limit` of them, evenly spread: the first of a sorted collection would all look alike."""
    n_shown = min(limit, len(items))
    return [items[i * len(items) // n_shown] for i in range(n_shown)]


def plain_table(title: str = "", caption: str = "") -> Table:
    """A table for the terminal, with a line below its headings and no other."""
    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )


COMMANDS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, among them those that begin escape sequences, and those that turn the direction of writing."""


def printable(text: str) -> str:
    r"""A text of strangers, as a file name, with what a terminal would obey as Python writes it: \x1b, \n, \u202e."""
    return COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
