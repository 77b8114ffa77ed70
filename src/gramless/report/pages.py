"""HTML pages that need nothing else, from the templates beside this file."""

from __future__ import annotations

from typing import Any

from gramless.packages import needed


def render(template: str, **values: Any) -> str:
    """The page; whatever is not marked as HTML is escaped, and a value that is missing is an error."""
    needed("jinja2")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gramless.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
