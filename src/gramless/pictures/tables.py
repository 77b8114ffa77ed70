"""A model of keywords and how good it is: in words, in tables for the terminal, and in a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
from rich.columns import Columns
from rich.console import Group
from rich.table import Table
from rich.text import Text

from gramless.deep_kernel import DeepKernel
from gramless.figures.drawing import BLUE, INK, PALE, QUIET, axes_style
from gramless.figures.learned_weights import shares_by
from gramless.metrics import ReliabilityBin
from gramless.pictures.annotation import Annotator, Quality
from gramless.support.packages import needed
from gramless.support.pages import plain_table, printable

RARE = 5  # a keyword with fewer examples is seldom found
N_LARGEST = 3
N_WORST = 15  # keywords that are shown; a file has them all


def figures_of(quality: Quality) -> dict[str, str]:
    """What a person judges by, in words."""
    counts, macro, n = quality.counts, quality.macro, max(quality.n_pictures, 1)
    return {
        "right keywords": f"{counts.right / n:.2f} per picture, {counts.right:,} in all",
        "wrong keywords": f"{counts.wrong / n:.2f} per picture, {counts.wrong:,} in all",
        "missed keywords": f"{counts.missed / n:.2f} per picture, {counts.missed:,} in all",
        "of the given keywords right": f"{counts.precision:.1f} %",
        "of the true keywords given": f"{counts.recall:.1f} %",
        "both together (F1)": f"{counts.f1:.1f} %",
        "the same three, mean over keywords": f"{macro.precision:.1f} %, {macro.recall:.1f} %, {macro.f1:.1f} %",
        "keywords found at all": f"{macro.n_plus} of {quality.n_keywords}",
        "rankings of keywords (MAP)": f"{quality.map_pictures:.1f} %",
        "rankings of pictures (MAP)": f"{quality.map_keywords:.1f} %",
        "probabilities are off by": f"{100 * quality.calibration_error:.1f} % on average",
    }


def facts_of(annotator: Annotator) -> dict[str, str]:
    """What a model was made from, in words."""
    counts = annotator.album.labels.sum(0, dtype=np.int64)
    rare = f" ({(counts < RARE).sum():,} of them with fewer than {RARE} examples)" if (counts < RARE).any() else ""
    views = annotator.features.names
    return {
        "pictures": f"{len(annotator.album):,}",
        "keywords": f"{len(annotator.keywords):,}{rare}{_never_learned(annotator, counts)}",
        "answers": "one keyword per picture, or none" if annotator.exclusive else "keywords as each picture deserves",
        "views": f"{len(views)}: {', '.join(views)}",
        "most weight": largest_views(annotator.classifier.map_network_.kernel_),
    }


def _never_learned(annotator: Annotator, counts: np.ndarray) -> str:
    """Keywords without an example, or that all pictures have: nothing tells them apart."""
    lost = [keyword for keyword, n in zip(annotator.keywords, counts, strict=True) if n in (0, len(annotator.album))]
    return f"; never learned: {', '.join(lost)}" if lost and len(annotator.album) else ""


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


def quality_table(quality: Quality, title: str) -> Table:
    """The figures in one table."""
    table = plain_table(title)
    table.show_header = False
    table.add_column()
    table.add_column(justify="right")
    for name, value in figures_of(quality).items():
        table.add_row(name, value)
    return table


def keyword_table(quality: Quality) -> Group:
    """The keywords that are given worst, and those that are never given."""
    shown = quality.keywords[:N_WORST]
    more = len(quality.keywords) - len(shown)
    table = plain_table("Keywords, the worst first" + (f" ({more:,} better ones are not shown)" if more else ""))
    table.add_column("keyword", overflow="fold")
    for title in ("learned from", "true", "given", "right", "wrong", "missed", "F1"):
        table.add_column(title, justify="right")
    for row in shown:
        c = row.counts
        numbers = (row.learned_from, c.right + c.missed, c.right + c.wrong, c.right, c.wrong, c.missed)
        table.add_row(Text(printable(row.keyword)), *(f"{number:,}" for number in numbers), f"{c.f1:.0f} %")
    notes = [
        _listed("never given, though pictures have them", quality.never_given),
        _listed("given, and never rightly", quality.never_right),
    ]
    return Group(table, *(note for note in notes if note is not None))


def _listed(title: str, keywords: tuple[str, ...]) -> Text | None:
    if not keywords:
        return None
    more = len(keywords) - N_WORST
    names = ", ".join(keywords[:N_WORST]) + (f" and {more:,} more" if more > 0 else "")
    return Text(f"{title} ({len(keywords):,}): ", style="dim").append(printable(names), style="not dim")


def keyword_columns(annotator: Annotator) -> Group:
    """Every keyword with its number of examples, the most frequent first."""
    counts = annotator.album.labels.sum(0, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")
    cells = [Text(printable(f"{annotator.keywords[j]} {counts[j]}")) for j in order]
    return Group(Text("Keywords and their numbers of examples", style="bold"), Columns(cells, padding=(0, 3)))


DOTS_PER_INCH = 160


def reliability_png(bins: Sequence[ReliabilityBin]) -> bytes:
    """Share of right answers against probability, bin by bin, and below it how many answers each bin has."""
    needed("matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    predicted, observed = [found.predicted for found in bins], [found.observed for found in bins]
    file = io.BytesIO()
    with rc_context({"font.family": "DejaVu Sans", "font.size": 8, **axes_style(INK, QUIET, 0.6)}):
        figure = Figure((4.2, 4.4), facecolor="white", layout="constrained")
        top, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        top.plot([0, 1], [0, 1], color=PALE, linewidth=1.2, zorder=1)
        top.plot(predicted, observed, color=BLUE, marker="o", markersize=4, linewidth=1.2, zorder=2)
        top.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="share that is right")
        top.set_title("What probabilities say, and what is so", loc="left", weight="bold", size=10)
        below.bar(predicted, [found.n_answers for found in bins], width=0.04, color=BLUE)
        below.set(yscale="log", ylabel="answers", xlabel="probability of a keyword")
        figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    return file.getvalue()
