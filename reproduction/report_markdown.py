"""The report as Markdown: tables, curves as tables of points, no pictures."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction.report import Entry, Example, Figure, Reproduction, Section, Table

MOST_POINTS = 20  # of a curve
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", **{mark: f"\\{mark}" for mark in "\\`*_[]~"}})


def as_markdown(report: Reproduction) -> str:
    lines = [f"# {_plain(report.title)}", ""]
    lines += [f"- {_plain(name)}: {_plain(value)}" for name, value in report.facts]
    for section in report.sections:
        lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {_plain(section.title)}"
    for paragraph in section.paragraphs:
        yield from ("", _plain(paragraph))
    if section.points:
        yield ""
        yield from (f"- {_plain(point)}" for point in section.points)
    for table in section.tables:
        yield from ("", *_table(table))
    for figure in section.figures:
        yield from ("", *_figure(figure))
    if section.examples:
        yield from ("", *_examples(section.examples))


def _table(table: Table) -> Iterator[str]:
    yield f"### {_plain(table.title)}"
    yield from ("", _plain(table.caption), "Published figures are in brackets.", "")
    yield _line(["", *_headings(table)])
    yield _line(["---", *["---:"] * len(table.columns)])
    for row in table.rows:
        yield _line([row.label, *(_entry(entry) for entry in row.entries)])


def _headings(table: Table) -> list[str]:
    groups = [title for title, width in table.groups for _ in range(width)] or [""] * len(table.columns)
    return [f"{column}, {group}" if group else column for column, group in zip(table.columns, groups, strict=True)]


def _entry(entry: Entry) -> str:
    return f"{entry.ours_text} ({entry.paper_text})" if entry.paper_text else entry.ours_text


def _figure(figure: Figure) -> Iterator[str]:
    yield f"### {_plain(figure.title)}"
    yield from ("", _plain(figure.caption), "")
    yield _line(["", figure.x_label, figure.y_label])
    yield _line(["---", "---:", "---:"])
    for curve in figure.curves:
        for i in _shown(len(curve.x)):
            yield _line([curve.label, f"{curve.x[i]:,g}", f"{curve.y[i]:.4g}"])
    if any(len(curve.x) > MOST_POINTS for curve in figure.curves):
        yield from ("", "Of longer curves some points; all are in report.json.")


def _shown(n: int) -> list[int]:
    """The first, the last, and others evenly between them."""
    if n <= MOST_POINTS:
        return list(range(n))
    return [round(i * (n - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)]


def _examples(examples: tuple[Example, ...]) -> Iterator[str]:
    methods = [answer.method for answer in examples[0].answers]
    yield _line(["picture", "true keywords", *methods])
    yield _line(["---"] * (2 + len(methods)))
    for example in examples:
        answers = (_marked(answer.keywords, example.truth) for answer in example.answers)
        yield _line([example.name, ", ".join(example.truth), *answers])


def _marked(keywords: tuple[str, ...], truth: tuple[str, ...]) -> str:
    """Keywords of a picture, the right ones with a star."""
    return ", ".join(f"{keyword}*" if keyword in truth else keyword for keyword in keywords)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(_plain(cell).replace("|", "\\|") for cell in cells) + " |"


def _plain(text: str) -> str:
    """One line, without what Markdown or HTML would take for its own."""
    return " ".join(text.split()).translate(ESCAPES)
