"""A picture of the views and kernels that carry a deep kernel network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gramless.deep_kernel import DeepKernel
from gramless.figures.learned_weights import ShareTable, heading, percent, shares_by
from gramless.figures.style import BLUE, INK, QUIET
from gramless.support.packages import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        _draw(shares_by(kernel)).savefig(file, format="png", dpi=DOTS_PER_INCH)


def _draw(found: ShareTable) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_views, n_kernels = found.shares.shape
    order = np.argsort(-found.of_views, kind="stable")
    shares, names = 100 * found.shares[order], [found.views[row] for row in order]
    map_width, map_height = 0.72 * n_kernels, 0.26 * n_views
    kernels = [heading(name) for name in found.kernels]
    n_lines = 1 + max(name.count("\n") for name in kernels)
    left, right, top, bottom = 0.25 + 0.075 * max(map(len, names)), 1.6, 1.35, 0.2 + 0.15 * n_lines
    width, height = max(left + map_width + right, 4.6), top + map_height + bottom
    figure = Figure((width, height), facecolor="white")
    FigureCanvasAgg(figure)

    def panel(x: float, y: float, w: float, h: float) -> Axes:
        axes = figure.add_axes((x / width, y / height, w / width, h / height))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelcolor=INK)
        return axes

    draw_map(panel(left, bottom, map_width, map_height), shares, names, kernels)
    beside = panel(left + map_width + 0.12, bottom, right - 0.27, map_height)
    above = panel(left, bottom + map_height + 0.12, map_width, 0.6)
    draw_bars(beside, above, np.nansum(shares, axis=1), np.nansum(shares, axis=0))
    figure.text(
        0.15 / width, 1 - 0.22 / height, "What the learned kernel looks at", size=10, weight="bold", va="center"
    )
    note = "share of each view and kernel in its growth from 0 to 1, %"
    figure.text(0.15 / width, 1 - 0.42 / height, note, color=QUIET, va="center")
    return figure


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
