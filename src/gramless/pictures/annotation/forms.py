"""Annotations as a table for the terminal, as CSV and JSON, and as keywords in XMP."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text

from gramless.errors import DataError
from gramless.pictures.annotation.annotator import Annotation
from gramless.pictures.metadata.marks import Given, Stamp
from gramless.pictures.metadata.writing import Place, Writing, give_all
from gramless.support.pages import COMMANDS, Problem, plain_table, printable

SEPARATORS = (";",)  # between the keywords of one cell, for whoever reads the file back
FORMULA_STARTS = frozenset("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # the last four: the first four, in full width


def annotation_table(annotations: Sequence[Annotation]) -> Table:
    """One row per picture, its keywords with their scores."""
    table = plain_table()
    table.add_column("picture", overflow="fold")
    table.add_column("keywords and probabilities", overflow="fold")
    for annotation in annotations:
        table.add_row(Text(printable(annotation.name)), _scored(annotation))
    return table


def write_metadata(
    annotations: Iterable[Annotation], model: str, place: Place, *, dry: bool = False
) -> tuple[list[Writing], list[Problem]]:
    """Keywords into sidecars or into the pictures, marked as given by `model` today: what was done, and what not."""
    stamp = Stamp(model, datetime.now(UTC).isoformat(timespec="seconds"))
    wanted = [(each.path, tuple(Given(*suggestion) for suggestion in each.suggestions)) for each in annotations]
    return give_all(wanted, stamp, place, dry=dry)


def as_csv(annotations: Iterable[Annotation]) -> bytes:
    """All of `csv_lines` at once."""
    return b"".join(csv_lines(annotations))


def csv_lines(annotations: Iterable[Annotation]) -> Iterator[bytes]:
    """The columns file, keywords and scores, one row per picture: a keyword file that can be learned from.

    Keywords of a picture share a cell, "boat; sea; sky", and so do their scores, in the same order. UTF-8 with a byte
    order mark, without which Excel guesses another encoding.

    A spreadsheet program takes a cell that starts with = + - or @ for a formula, and would run what a stranger's
    keyword says. Such a cell starts with a space here, which makes it text; whoever reads keywords strips spaces
    around them anyway, so they come back as they were. An apostrophe, the other common guard, would stay in them.
    """
    yield _encoded("\ufeff" + _csv_line(("file", "keywords", "scores")))
    for annotation in annotations:
        check_csv_keywords(annotation.keywords)
        scores = (f"{suggestion.score:.4f}" for suggestion in annotation.suggestions)
        cells = (annotation.name, "; ".join(annotation.keywords), "; ".join(scores))
        yield _encoded(_csv_line([_as_text(cell) for cell in cells]))


def check_csv_keywords(keywords: Iterable[str]) -> None:
    """Refuse keywords that a CSV file cannot hold, because they contain what separates them there."""
    for keyword in keywords:
        if any(separator in keyword for separator in SEPARATORS):
            raise DataError(
                f"the keyword {keyword!r} contains one of {' '.join(SEPARATORS)}, which separate the keywords in a CSV "
                "file. Write JSON instead, or rename the keyword."
            )


def json_lines(annotations: Iterable[Annotation], unreadable: Mapping[str, str]) -> Iterator[bytes]:
    """A list with one entry per picture, {"file": name, "keywords": [{"keyword": ..., "score": ...}, ...]}.

    A picture that could not be read is {"file": name, "error": reason}, after all the others: `unreadable` is looked at
    once the annotations are exhausted.
    """
    before = "["
    for entry in _json_entries(annotations, unreadable):
        text = json.dumps([entry], ensure_ascii=False, allow_nan=False, indent=1)
        lines = (COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n")[1:-1])
        yield _encoded(before + "\n" + "\n".join(lines))
        before = ","
    yield b"[]\n" if before == "[" else b"\n]\n"


def _json_entries(annotations: Iterable[Annotation], unreadable: Mapping[str, str]) -> Iterator[dict[str, object]]:
    for annotation in annotations:
        yield {"file": annotation.name, "keywords": [suggestion._asdict() for suggestion in annotation.suggestions]}
    for name, reason in unreadable.items():
        yield {"file": name, "error": reason}


def _csv_line(cells: Sequence[str]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerow(cells)  # a ; in a bare name would pass for the delimiter
    return text.getvalue()


def _scored(annotation: Annotation) -> Text:
    text = Text()
    for suggestion in annotation.suggestions:
        text.append(", " if text else "").append(printable(suggestion.keyword))
        text.append(f" {suggestion.score:.2f}", style="dim")
    return text or Text("none", style="dim")


def _as_text(cell: str) -> str:
    return f" {cell}" if cell[:1] in FORMULA_STARTS else cell


def _encoded(text: str) -> bytes:
    """As UTF-8; what is left of a file name in another encoding as \\udcXX, which JSON reads back."""
    return text.encode("utf-8", "backslashreplace")
