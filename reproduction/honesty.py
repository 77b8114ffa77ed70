"""Where the figures here are behind the paper's or the field's, and what differs: generated from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproduction.report import Entry, Row, Section, Table, count_verdicts

LIKE = "figures of keywords against the published"
UNLIKE = "relative errors and times, of another kernel and on other machines"

Place = tuple[Row, str, Entry]
"""A row, the name of a column, and what stands there."""

COREL5K_DIFFERENCES = (
    "Pictures have half the size of the original ones (192 by 128 pixels), so that there is less to describe.",
    "The fifteen handcrafted views are re-implemented after their descriptions; the paper used the files of their "
    "authors.",
    "The learned view is EfficientNet-Lite0 (1,280 numbers, 4.7 million weights), not ResNet-152 (2,048, 60 million).",
    "There are 260 keywords here, as in most work on COREL5k; the paper counts 200. R and P are means over those that "
    "the test pictures have.",
    "Algorithm 1 starts from maps of the exact elementary kernels, where the paper's are quantised or truncated: a "
    "part of what it mends there is not here to mend.",
    "The kernel is another one, so that relative errors do not compare well: their size goes with the spread of the "
    "kernel's values, which the paper does not give. What a constant has here is in the tables.",
    "Networks are learned by the descent of this package, on weights that sum to one; the paper does not publish its "
    "own.",
)


def section(
    tables: Sequence[Table], differences: Sequence[str], n_missing: int, remarks: Sequence[str] = ()
) -> Section:
    """The counts, in all and by table and head, each with what is farthest behind; the field; and the differences."""
    compared = [entry for table in tables for row in table.rows for entry in row.entries if entry.verdict]
    paragraphs = [f"{name[0].upper()}{name[1:]}: {told}." for name, told in _counts(tables)]
    if any(entry.spread is not None for entry in compared):
        n_within = sum(entry.within_spread for entry in compared)
        paragraphs.append(f"{n_within} of these differences are smaller than the standard deviation over seeds.")
    if n_missing:
        paragraphs.append(f"{n_missing} cells are not computed yet; the same command continues with them.")
    parts = [part for table in tables for part in _parts(table)]
    points = [_worded(title, places) for title, places in parts if any(entry.verdict for _, _, entry in places)]
    points += remarks
    points += [f"What differs: {difference}" for difference in differences]
    return Section("Where this is behind, and what differs", tuple(paragraphs), tuple(points))


def facts(tables: Sequence[Table], n_cells: int, n_missing: int) -> tuple[tuple[str, str], ...]:
    """What stands at the top: how much is computed, and the counts."""
    return ("cells computed", f"{n_cells - n_missing:,} of {n_cells:,}"), *_counts(tables)


def _counts(tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    for title, like_for_like in ((LIKE, True), (UNLIKE, False)):
        ahead, behind = count_verdicts(table for table in tables if table.like_for_like is like_for_like)
        if ahead or behind:
            yield title, f"{ahead:,} ahead, {behind:,} behind"


def _parts(table: Table) -> Iterator[tuple[str, list[Place]]]:
    """The groups of columns of a table, or the whole of it."""
    start = 0
    for title, width in table.groups or (("", len(table.columns)),):
        columns = range(start, start + width)
        places = [(row, table.columns[column], row.entries[column]) for row in table.rows for column in columns]
        yield f"{table.title}, {title}" if title else table.title, places
        start += width


def _worded(title: str, places: Sequence[Place]) -> str:
    verdicts = [entry.verdict for _, _, entry in places]
    told = f"{title}: {verdicts.count('ahead')} ahead, {verdicts.count('behind')} behind"
    if "behind" not in verdicts:
        return f"{told}."
    row, column, entry = max((place for place in places if place[2].verdict == "behind"), key=_shortfall)
    return f"{told}; farthest: {row.label}, {column}: {entry.ours_text}, published {entry.paper_text}."


def _shortfall(place: Place) -> float:
    """As a share of the published figure."""
    _, _, entry = place
    assert entry.paper is not None
    return abs(entry.mean - entry.paper) / max(abs(entry.paper), 1e-9)
