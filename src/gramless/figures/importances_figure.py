"""A picture of what matters to a fitted model: views by kernels, views by labels, and what shuffling a view costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from gramless.errors import DataError
from gramless.estimators.importances import Importances
from gramless.estimators.permutation import PermutationImportances
from gramless.figures.learned_weights import heading
from gramless.figures.learned_weights_figure import DOTS_PER_INCH, STYLE, draw_map
from gramless.figures.style import BLUE, INK, QUIET, VERMILION
from gramless.support.packages import needed
from gramless.support.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        draw(importances, shuffled).savefig(file, format="png", dpi=DOTS_PER_INCH)


def draw(importances: Importances, shuffled: PermutationImportances | None) -> Figure:
    """The figure, in the style that is set."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

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
    height = top + ROW * len(names) + bottom
    width = max(float(starts[-1]), 4.0 if shuffled is None else 5.6)
    figure = Figure((width, height), facecolor="white")
    FigureCanvasAgg(figure)

    def panel(which: int, title: str) -> Axes:
        size = (starts[which] / width, bottom / height, widths[which] / width, ROW * len(names) / height)
        axes = figure.add_axes(size)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelcolor=INK)
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
    figure.text(0.15 / width, 1 - 0.22 / height, "What matters to the model", size=10, weight="bold", va="center")
    note = "share of each view in what moves its decisions, %"
    note += "; and what of the score is lost where it is shuffled" if shuffled is not None else ""
    figure.text(0.15 / width, 1 - 0.42 / height, note, color=QUIET, va="center")
    return figure


def by_kernels(importances: Importances) -> np.ndarray:
    """Shares in percent on average over labels, (n_views, n_kernels); NaN where a view has no such kernel."""
    found = np.full((len(importances.views), len(importances.kernels)), np.nan)
    for (view, kernel), share in zip(importances.inputs, importances.shares.mean(0), strict=True):
        place = importances.views.index(view), importances.kernels.index(kernel)
        found[place] = np.nansum([found[place], 100 * share])
    return found


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
