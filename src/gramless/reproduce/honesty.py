"""Where the figures here are behind the paper's or the field's, and what differs: generated from the tables."""

from __future__ import annotations

from collections.abc import Sequence

from gramless.report.reproduction import Entry, Row, Section, Table, count_verdicts

MOST_LISTED = 12

COREL5K_DIFFERENCES = (
    "Pictures have half the size of the original ones (192 by 128 pixels), so that there is less to describe.",
    "The fifteen handcrafted views are re-implemented after their descriptions; the paper used the files of their "
    "authors.",
    "The learned view is EfficientNet-Lite0 (1,280 numbers, 4.7 million weights), not ResNet-152 (2,048, 60 million).",
    "There are 260 keywords here, as in most work on COREL5k; the paper counts 200. R and P are means over those that "
    "the test pictures have.",
    "Algorithm 1 starts from an initial map that is better than the paper's: landmarks' kernel values are exact, where "
    "the paper's input maps are quantised. There is less to gain.",
    "Networks are learned by the descent of this package, on weights that sum to one; the paper does not publish its "
    "own.",
)


def section(
    tables: Sequence[Table], differences: Sequence[str], n_missing: int, remarks: Sequence[str] = ()
) -> Section:
    """The counts, remarks on the field, the entries farthest behind, and the differences."""
    ahead, behind = count_verdicts(tables)
    paragraphs = [f"{ahead} figures are ahead of the published ones, {behind} behind."]
    if n_missing:
        paragraphs.append(f"{n_missing} cells are not computed yet; the same command continues with them.")
    points = [
        f"{table.title}: {table.verdicts()[0]} ahead, {table.verdicts()[1]} behind."
        for table in tables
        if any(table.verdicts())
    ]
    points += remarks
    shortfalls = sorted(_shortfalls(tables), key=lambda found: found[0], reverse=True)
    points += [text for _, text in shortfalls[:MOST_LISTED]]
    if len(shortfalls) > MOST_LISTED:
        points.append(f"And {len(shortfalls) - MOST_LISTED} more that are behind by less; the tables mark them.")
    points += [f"What differs: {difference}" for difference in differences]
    return Section("Where this is behind, and what differs", tuple(paragraphs), tuple(points))


def _shortfalls(tables: Sequence[Table]) -> list[tuple[float, str]]:
    """By how much, as a share of the published figure, and in words."""
    return [
        _worded(table, row, column, group, entry)
        for table in tables
        for row in table.rows
        for column, group, entry in zip(table.columns, _groups(table), row.entries, strict=True)
        if entry.verdict == "behind"
    ]


def _worded(table: Table, row: Row, column: str, group: str, entry: Entry) -> tuple[float, str]:
    assert entry.paper is not None
    share = abs(entry.mean - entry.paper) / max(abs(entry.paper), 1e-9)
    where = f"{table.title}, {row.label}, {column}{f', {group}' if group else ''}"
    return share, f"Behind: {where}: {entry.ours_text}, published {entry.paper_text}."


def _groups(table: Table) -> list[str]:
    return [title for title, width in table.groups for _ in range(width)] or [""] * len(table.columns)
