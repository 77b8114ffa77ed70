"""A report that puts measured figures beside published ones: its values, and the three files that it becomes."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from gramless.support.atomic import write_atomically

NOT_COMPUTED = "..."
NONE = "-"
NO_DECIMALS = 1_000  # published figures from here on have none

Better = Literal["higher", "lower"]
Verdict = Literal["ahead", "behind", ""]


@dataclass(frozen=True)
class Entry:
    """A figure: measured once per seed, beside the published one where there is one.

    values : empty where nothing is computed yet; None where there is nothing to compute
    better : which of two figures is the better one; None where they are not compared
    """

    values: tuple[float, ...] | None
    paper: float | None
    better: Better | None
    digits: int

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values or ())

    @property
    def spread(self) -> float | None:
        """The standard deviation; None where one value, or none, is known."""
        return statistics.stdev(self.values) if self.values is not None and len(self.values) > 1 else None

    @property
    def within_spread(self) -> bool:
        """Whether mean and published figure are less than a standard deviation apart."""
        return self.spread is not None and self.paper is not None and abs(self.mean - self.paper) < self.spread

    @property
    def verdict(self) -> Verdict:
        """Whether the mean is ahead of the published figure, as both are printed; nothing where they are level."""
        if not self.values or self.paper is None or self.better is None:
            return ""
        if not math.isfinite(self.mean):
            return "behind"
        gap = round(self.mean, self.digits) - round(self.paper, self.digits)
        if abs(gap) < 0.5 * 10.0**-self.digits:
            return ""
        return "ahead" if (gap > 0) == (self.better == "higher") else "behind"

    @property
    def ours_text(self) -> str:
        """Mean and standard deviation."""
        if not self.values:
            return NONE if self.values is None else NOT_COMPUTED
        spread = "" if self.spread is None else f" ± {self.spread:.{self.digits}f}"
        return f"{self.mean:,.{self.digits}f}{spread}"

    @property
    def paper_text(self) -> str:
        if self.paper is None:
            return ""
        return f"{self.paper:,.{0 if abs(self.paper) >= NO_DECIMALS else self.digits}f}"


@dataclass(frozen=True)
class Row:
    """What is measured, and one entry per column."""

    label: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """Rows of measured and published figures.

    groups : titles over several columns each, and how many; empty where columns need none
    like_for_like : whether both are of the same thing; not where they are of another kernel or another machine
    """

    title: str
    caption: str
    groups: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    like_for_like: bool = True

    def verdicts(self) -> tuple[int, int]:
        """How many entries are ahead of the published figures, and how many behind."""
        found = [entry.verdict for row in self.rows for entry in row.entries]
        return found.count("ahead"), found.count("behind")


@dataclass(frozen=True)
class Curve:
    """paper : whether it shows published figures."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    paper: bool = False


@dataclass(frozen=True)
class Figure:
    """Curves over one x; labels have units."""

    title: str
    caption: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False


@dataclass(frozen=True)
class Answer:
    """The keywords of one method for a picture."""

    method: str
    keywords: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A picture with its true keywords and what methods answered; thumbnail: a data URI, or nothing."""

    name: str
    thumbnail: str
    truth: tuple[str, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Section:
    """A part of the report; its paragraphs come first."""

    title: str
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """The whole report; `facts` stand at the top."""

    title: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def over_seeds(n_seeds: int) -> str:
    """What figures of a table are, for its caption."""
    return "One seed" if n_seeds == 1 else f"Mean and standard deviation over {n_seeds} seeds"


def count_verdicts(tables: Iterable[Table]) -> tuple[int, int]:
    """Entries ahead of the published figures, and behind."""
    counts = [table.verdicts() for table in tables]
    return sum(ahead for ahead, _ in counts), sum(behind for _, behind in counts)


def write_reproduction(report: Reproduction, folder: Path) -> tuple[Path, Path, Path]:
    """Write report.html, report.md and report.json into a folder, each whole or not at all."""
    from reproduction.report_html import as_html  # needs Jinja2 and Matplotlib, which are optional extras
    from reproduction.report_markdown import as_markdown

    contents = {
        "report.html": as_html(report),
        "report.md": as_markdown(report),
        "report.json": json.dumps(asdict(report), indent=1, ensure_ascii=False) + "\n",
    }
    paths = []
    for name, text in contents.items():
        content = text.encode("utf-8", "replace")
        write_atomically(folder / name, lambda file, content=content: file.write(content))  # type: ignore[misc]
        paths.append(folder / name)
    return paths[0], paths[1], paths[2]
