"""Pictures of what carries a deep kernel network and of what matters to a model; and the look of all figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gramless.deep_kernel import DeepKernel
from gramless.errors import DataError
from gramless.estimators.importances import Importances
from gramless.estimators.permutation import PermutationImportances
from gramless.figures.learned_weights import ShareTable, heading, percent, shares_by, summed
from gramless.support.packages import needed
from gramless.support.pages import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, PALE = "#222222", "#666666", "#C8C8C8"
BLUE, VERMILION = "#0072B2", "#D55E00"  # of Okabe and Ito's palette, told apart by everyone


def axes_style(ink: str, quiet: str, line_width: float) -> Any:  # Matplotlib's type of this lists every key there is
    """Settings of Matplotlib: text and labels in ink, thin quiet lines, open to the top and to the right."""
    return {
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.edgecolor": quiet,
        "axes.linewidth": line_width,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": quiet,
        "ytick.color": quiet,
        "xtick.labelcolor": ink,
        "ytick.labelcolor": ink,
    }


STYLE: Any = {  # Matplotlib's type of this lists every key there is
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,  # a $ in the name of a view is a $
}
DOTS_PER_INCH = 200


def save_weights_figure(kernel: DeepKernel, file: BinaryIO) -> None:
    """Write the shares as PNG: a heat map of views by kernels, with bars for the sums of its rows and columns."""
    needed("matplotlib")
    from matplotlib import rc_context

    with rc_context(STYLE):
        draw_weights(shares_by(kernel)).savefig(file, format="png", dpi=DOTS_PER_INCH)


def draw_weights(found: ShareTable) -> Figure:
    """The figure, in the style that is set."""
    n_views, n_kernels = found.shares.shape
    order = np.argsort(-found.of_views, kind="stable")
    shares, names = 100 * found.shares[order], [found.views[row] for row in order]
    map_width, map_height = 0.72 * n_kernels, 0.26 * n_views
    kernels = [heading(name) for name in found.kernels]
    n_lines = 1 + max(name.count("\n") for name in kernels)
    left, right, top, bottom = 0.25 + 0.075 * max(map(len, names)), 1.6, 1.35, 0.2 + 0.15 * n_lines
    figure, panel = canvas(
        max(left + map_width + right, 4.6),
        top + map_height + bottom,
        "What the learned kernel looks at",
        "share of each view and kernel in its growth from 0 to 1, %",
    )
    draw_map(panel(left, bottom, map_width, map_height), shares, names, kernels)
    beside = panel(left + map_width + 0.12, bottom, right - 0.27, map_height)
    above = panel(left, bottom + map_height + 0.12, map_width, 0.6)
    draw_bars(beside, above, np.nansum(shares, axis=1), np.nansum(shares, axis=0))
    return figure


def canvas(width: float, height: float, title: str, note: str) -> tuple[Figure, Callable[..., Axes]]:
    """A figure of that size with a title and a note, and what places axes on it: x, y, width and height, in inches."""
    from matplotlib.figure import Figure

    figure = Figure((width, height), facecolor="white")
    figure.text(0.15 / width, 1 - 0.22 / height, title, size=10, weight="bold", va="center")
    figure.text(0.15 / width, 1 - 0.42 / height, note, color=QUIET, va="center")

    def panel(x: float, y: float, w: float, h: float) -> Axes:
        axes = figure.add_axes((x / width, y / height, w / width, h / height))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelcolor=INK)
        return axes

    return figure, panel


def draw_map(axes: Axes, shares: np.ndarray, names: list[str], kernels: list[str]) -> None:
    largest = np.nanmax(shares)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=largest, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(range(len(kernels)), kernels)
    axes.set_xticks(np.arange(len(kernels) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(names) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 0.55 * largest else INK
        axes.text(column, row, percent(share / 100), ha="center", va="center", size=7, color=colour)


def draw_bars(beside: Axes, above: Axes, of_views: np.ndarray, of_kernels: np.ndarray) -> None:
    beside.barh(range(len(of_views)), of_views, height=0.6, color=BLUE)
    beside.set(ylim=(len(of_views) - 0.5, -0.5), xlim=(0, 1.45 * of_views.max()), xticks=[], yticks=[])
    for row, share in enumerate(of_views):
        beside.text(share, row, f" {share:.1f}", va="center", size=7)
    above.bar(range(len(of_kernels)), of_kernels, width=0.6, color=BLUE)
    above.set(xlim=(-0.5, len(of_kernels) - 0.5), ylim=(0, 1.45 * of_kernels.max()), xticks=[], yticks=[])
    for column, share in enumerate(of_kernels):
        above.text(column, share, f"{share:.1f}", ha="center", va="bottom", size=7)


MOST_LABELS = 20  # columns; of more, those are drawn whose shares are most unlike the others'
LONGEST = 24  # letters of a name
COLUMN, ROW, BARS, GAP = 0.72, 0.26, 1.3, 0.3  # inches


def save_importances_figure(
    importances: Importances, file: BinaryIO, shuffled: PermutationImportances | None = None
) -> None:
    """Write `model.importances_` as PNG: shares by kernels and by labels, and what of the score shuffling costs.

    shuffled : from permutation_importances of the same model
    """
    needed("matplotlib")
    from matplotlib import rc_context

    if shuffled is not None and shuffled.views != importances.views:
        raise DataError(
            f"shares are of the views {list(importances.views)}, and the views {list(shuffled.views)} were shuffled: "
            "give both of the same model."
        )
    with rc_context(STYLE):
        draw_importances(importances, shuffled).savefig(file, format="png", dpi=DOTS_PER_INCH)


def draw_importances(importances: Importances, shuffled: PermutationImportances | None) -> Figure:
    """The figure, in the style that is set."""
    of_views = 100 * importances.of_views
    order = np.argsort(-of_views.mean(0), kind="stable")
    names = [_short(importances.views[view]) for view in order]
    kernels = [heading(name) for name in importances.kernels]
    labels = drawn_labels(of_views)
    label_names = [_short(str(importances.labels[label])) for label in labels]
    left, top = 0.3 + 0.078 * max(map(len, names)), 1.0
    bottom = 0.2 + max(0.15 * (1 + max(name.count("\n") for name in kernels)), 0.078 * max(map(len, label_names)))
    widths = [COLUMN * len(kernels), COLUMN * len(labels) if len(importances.labels) > 1 else 0.0, BARS]
    widths += [BARS] if shuffled is not None else []
    starts = left + np.concatenate([[0.0], np.cumsum([width + GAP if width else 0.0 for width in widths])])
    note = "share of each view in what moves its decisions, %"
    note += "; and what of the score is lost where it is shuffled" if shuffled is not None else ""
    width, map_height = max(float(starts[-1]), 4.0 if shuffled is None else 5.6), ROW * len(names)
    figure, place = canvas(width, top + map_height + bottom, "What matters to the model", note)

    def panel(which: int, title: str) -> Axes:
        axes = place(starts[which], bottom, widths[which], map_height)
        axes.set_title(title, size=8, loc="left", color=QUIET)
        return axes

    draw_map(panel(0, "by kernel"), by_kernels(importances)[order], names, kernels)
    if widths[1]:
        axes = panel(1, "by label" if len(labels) == len(of_views) else f"by label, {len(labels)} of {len(of_views)}")
        draw_map(axes, of_views[labels][:, order].T, [""] * len(names), label_names)
        if max(map(len, label_names)) > 8:
            axes.tick_params(axis="x", labelrotation=90)
    _draw_bars(panel(2, "in all, %"), of_views.mean(0)[order], None, "{:.1f}", BLUE)
    if shuffled is not None:
        axes = panel(3, f"score lost of {shuffled.score:.3g}")
        _draw_bars(axes, shuffled.mean[order], shuffled.std[order], "{:.3f}", VERMILION)
    return figure


def by_kernels(importances: Importances) -> np.ndarray:
    """Shares in percent on average over labels, (n_views, n_kernels); NaN where a view has no such kernel."""
    return summed(importances.inputs, 100 * importances.shares.mean(0), importances.views, importances.kernels)


def drawn_labels(of_views: np.ndarray) -> np.ndarray:
    """Numbers of labels, in their order, from shares (n_labels, n_views)."""
    unlike = np.abs(of_views - of_views.mean(0)).sum(1)
    return np.sort(np.argsort(-unlike, kind="stable")[:MOST_LABELS])


def _draw_bars(axes: Axes, numbers: np.ndarray, spread: np.ndarray | None, form: str, colour: str) -> None:
    rows = np.arange(len(numbers))
    axes.barh(rows, numbers, xerr=spread, height=0.6, color=colour, error_kw={"elinewidth": 0.8, "ecolor": INK})
    ends = np.maximum(numbers, 0.0) + (0.0 if spread is None else spread)
    largest = max(float(ends.max()), 1e-9)
    axes.set(
        ylim=(len(numbers) - 0.5, -0.5), xlim=(min(0.0, float(numbers.min())), 1.7 * largest), xticks=[], yticks=[]
    )
    for row, (end, number) in enumerate(zip(ends, numbers, strict=True)):
        text = form.format(number)
        axes.annotate(text, (end, row), (3, 0), textcoords="offset points", va="center", size=7)


def _short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
