"""The docs site: README as the front page, the pages of this folder, and the API reference from docstrings."""

import re
from typing import Any

from sphinx.ext.napoleon import NumpyDocstring

from gramless import __version__

project = "Gramless"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
html_theme = "alabaster"
html_theme_options = {"description": "Deep kernels without the Gram matrix", "page_width": "70em"}
html_show_sourcelink = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what a parameter may be
html_copy_source = False

LITERAL = re.compile(r"`[^`]+`")
MARKS = re.compile(r"([*|\\]|\b_|_\b)")
ENTRY = re.compile(r"([\w, ]+) : (.+)")


def as_plain_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: `code` is code, a star is a star, and lines "name : what it is" are a list."""
    sections = any(line.startswith("----") for line in lines)  # as NumPy has them
    plain = [escaped(line) for line in (lines if sections else listed(lines))]
    lines[:] = NumpyDocstring(plain, what=what).lines() if sections else plain


def listed(lines: list[str]) -> list[str]:
    found, inside = [], False
    for line in lines:
        entry = ENTRY.fullmatch(line)
        if entry:
            found += ["", f"- `{entry[1]}`: {entry[2]}"]
            inside = True
        elif inside and line.startswith("    "):
            found[-1] += f" {line.strip()}"
        else:
            found += ["", line] if inside else [line]
            inside = False
    return found


def escaped(line: str) -> str:
    plain = [MARKS.sub(r"\\\1", text) for text in LITERAL.split(line)]
    code = [f"`{text}`" for text in LITERAL.findall(line)]
    return "".join(text for pair in zip(plain, [*code, ""], strict=True) for text in pair)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", as_plain_text)
