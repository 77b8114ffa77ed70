"""HTML pages that need nothing else, made from templates; and which of many things are shown on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from gramless.support.packages import needed

Item = TypeVar("Item")


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
