"""A model of keywords and how good it is, in figures and tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rich import box
from rich.columns import Columns
from rich.console import Group
from rich.table import Table
from rich.text import Text

from gramless.deep_kernel import DeepKernel
from gramless.figures.learned_weights import shares_by
from gramless.heads.operating_points import OperatingPoint, best_recall_weight
from gramless.pictures.annotation import Annotator, Judgement
from gramless.support.printable import printable

RARE = 5  # a keyword with fewer examples is seldom found
N_LARGEST = 3


def figures_of(judgement: Judgement) -> dict[str, str]:
    """The measures of the field by name, as people write them."""
    scores = judgement.scores
    return {
        "recall R": f"{scores.recall:.1f} %",
        "precision P": f"{scores.precision:.1f} %",
        "F1": f"{scores.f1:.1f} %",
        "N+": f"{scores.n_plus} of {judgement.n_keywords}",
        "MAP of pictures": f"{judgement.map_pictures:.1f} %",
        "MAP of keywords": f"{judgement.map_keywords:.1f} %",
    }


def facts_of(annotator: Annotator) -> dict[str, str]:
    """What a model was made from, in words."""
    counts = annotator.album.labels.sum(0, dtype=np.int64)
    rare = f" ({(counts < RARE).sum():,} of them with fewer than {RARE} examples)" if (counts < RARE).any() else ""
    views = annotator.features.names
    return {
        "pictures": f"{len(annotator.album):,}",
        "keywords": f"{len(annotator.keywords):,}{rare}",
        "views": f"{len(views)}: {', '.join(views)}",
        "most weight": largest_views(annotator.classifier.map_network_.kernel_),
    }


def largest_views(kernel: DeepKernel) -> str:
    """The views with the largest shares in a learned kernel: "Gist 40 %, Rgb 25 %, Lab 10 %"."""
    found = shares_by(kernel)
    best = np.argsort(-found.of_views, kind="stable")[:N_LARGEST]
    return ", ".join(f"{found.views[i]} {100 * found.of_views[i]:.0f} %" for i in best)


def facts_table(facts: Mapping[str, str]) -> Table:
    """Two columns without a frame."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, Text(printable(value)))
    return table


def curve_table(points: Sequence[OperatingPoint]) -> Table:
    """Recall against precision on held-out training pictures, the chosen weight marked."""
    table = _table("Validation: recall against precision")
    for title in ("weight of R", "R, %", "P, %", "F1, %", "N+"):
        table.add_column(title, justify="right")
    table.add_column("")
    chosen = best_recall_weight(tuple(points))
    for point in points:
        numbers = (f"{number:.1f}" for number in (point.recall, point.precision, point.f1))
        is_chosen = point.recall_weight == chosen
        table.add_row(
            f"{point.recall_weight:g}",
            *numbers,
            f"{point.n_plus:.0f}",
            "chosen" if is_chosen else "",
            style="bold" if is_chosen else None,
        )
    return table


def scores_table(judgement: Judgement) -> Table:
    """The measures of the field on the pictures that were judged."""
    table = _table(f"On {len(judgement.annotations):,} pictures")
    table.add_column("measure")
    table.add_column("value", justify="right")
    for name, value in figures_of(judgement).items():
        table.add_row(name, value)
    return table


def keyword_columns(annotator: Annotator) -> Group:
    """Every keyword with its number of examples, the most frequent first."""
    counts = annotator.album.labels.sum(0, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")
    cells = [Text(printable(f"{annotator.keywords[j]} {counts[j]}")) for j in order]
    return Group(Text("Keywords and their numbers of examples", style="bold"), Columns(cells, padding=(0, 3)))


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
