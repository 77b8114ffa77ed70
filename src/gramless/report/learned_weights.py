"""Which views and kernels carry a deep kernel network: a number for each, a table and a picture of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import torch
from rich import box
from rich.table import Table
from rich.text import Text

from gramless.dkn import DeepKernel
from gramless.errors import DataError
from gramless.features.packages import needed
from gramless.kernels import NAMED, Kernel
from gramless.report.figure_style import BLUE, INK, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_POINTS = 64  # of Gauss and Legendre's rule: exact but for rounding where activations are smooth
STYLE: Any = {  # Matplotlib's type of this lists every key there is
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,  # a $ in the name of a view is a $
}
DOTS_PER_INCH = 200


@dataclass(frozen=True, eq=False)
class ShareTable:
    """Shares (n_views, n_kernels) that sum to 1: NaN where a view has no such kernel, a sum where it has several."""

    views: tuple[str, ...]
    kernels: tuple[str, ...]
    shares: np.ndarray

    @property
    def of_views(self) -> np.ndarray:
        return np.nansum(self.shares, axis=1)

    @property
    def of_kernels(self) -> np.ndarray:
        return np.nansum(self.shares, axis=0)


def input_shares(kernel: DeepKernel) -> np.ndarray:
    """The share of each elementary kernel in the network's output: (n_inputs,), summing to 1.

    Between two samples that are nothing alike all elementary kernels are 0, between a sample and itself they are 1
    (normalised kernels are; others are taken to have that scale). On the straight way from the one to the other the
    output grows, and this growth is the sum of what every input adds: the integral of d output / d input. These are
    the integrated gradients of Sundararajan, Taly and Yan (2017). In a network without activations they are the
    products of the weights from input to output; in others each unit counts by its slope, so that a tanh that is
    saturated counts little whatever its weights.
    """
    positions, lengths = np.polynomial.legendre.leggauss(N_POINTS)
    way = torch.from_numpy((positions + 1) / 2)
    values = way.repeat(len(kernel.inputs), 1).requires_grad_()  # (n_inputs, n_points)
    with torch.enable_grad():
        output = values
        for layer in kernel.layers:
            output = layer.activation(layer.weights @ output)
    (slopes,) = torch.autograd.grad(output.sum(), values)
    added = slopes.numpy() @ (lengths / 2)
    total = added.sum()
    if not (np.isfinite(total) and total > 0):
        raise DataError(
            f"the output of this network changes by {total:g} when all its kernels grow from 0 to 1, so they have no "
            "shares in it. Look at its weights: all of them are zero, or its activations do not grow."
        )
    return added / total


def shares_by(kernel: DeepKernel) -> ShareTable:
    """The shares as a table of views by kernels, both in the order of the network's inputs."""
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for entry, share in zip(kernel.inputs, input_shares(kernel).tolist(), strict=True):
        sums[entry.view, kernel_name(entry.kernel)] += share
    views = tuple(dict.fromkeys(view for view, _ in sums))
    kernels = tuple(dict.fromkeys(name for _, name in sums))
    shares = np.array([[sums.get((view, name), np.nan) for name in kernels] for view in views])
    return ShareTable(views, kernels, shares)


def kernel_name(kernel: Kernel) -> str:
    """The name by which people ask for a kernel: its order or degree counts, its scale does not."""
    parameters = {name: getattr(kernel, name) for name in ("degree", "order") if hasattr(kernel, name)}
    for name, named in NAMED.items():
        if type(named) is type(kernel) and all(getattr(named, key) == value for key, value in parameters.items()):
            return name
    return " ".join([kernel.name, *map(str, parameters.values())])


def weights_table(kernel: DeepKernel) -> Table:
    """The shares in percent for the terminal: views with the largest share first, and the sums of rows and columns."""
    found = shares_by(kernel)
    table = Table(
        title="Share of views and kernels in the learned kernel, %",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_footer=True,
    )
    table.add_column("view", "all", overflow="fold")
    for name, share in zip(found.kernels, found.of_kernels, strict=True):
        table.add_column(Text(name), _percent(share), justify="right")
    table.add_column("all", _percent(1.0), justify="right", style="bold")
    for row in np.argsort(-found.of_views, kind="stable"):
        table.add_row(Text(found.views[row]), *map(_percent, found.shares[row]), _percent(found.of_views[row]))
    return table


def save_weights_figure(kernel: DeepKernel, file: BinaryIO) -> None:
    """Write the shares as PNG: a heat map of views by kernels, with bars for the sums of its rows and columns."""
    needed("matplotlib", "'gramless[plots]'")
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
    left, right, top, bottom = 0.25 + 0.075 * max(map(len, names)), 1.6, 1.35, 0.35
    width, height = max(left + map_width + right, 4.6), top + map_height + bottom
    figure = Figure((width, height), facecolor="white")
    FigureCanvasAgg(figure)

    def panel(x: float, y: float, w: float, h: float) -> Axes:
        axes = figure.add_axes((x / width, y / height, w / width, h / height))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelcolor=INK)
        return axes

    _draw_map(panel(left, bottom, map_width, map_height), shares, names, found.kernels)
    beside = panel(left + map_width + 0.12, bottom, right - 0.27, map_height)
    above = panel(left, bottom + map_height + 0.12, map_width, 0.6)
    _draw_bars(beside, above, np.nansum(shares, axis=1), np.nansum(shares, axis=0))
    figure.text(
        0.15 / width, 1 - 0.22 / height, "What the learned kernel looks at", size=10, weight="bold", va="center"
    )
    note = "share of each view and kernel in its growth from 0 to 1, %"
    figure.text(0.15 / width, 1 - 0.42 / height, note, color=QUIET, va="center")
    return figure


def _draw_map(axes: Axes, shares: np.ndarray, names: list[str], kernels: tuple[str, ...]) -> None:
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
        axes.text(column, row, _percent(share / 100), ha="center", va="center", size=7, color=colour)


def _draw_bars(beside: Axes, above: Axes, of_views: np.ndarray, of_kernels: np.ndarray) -> None:
    beside.barh(range(len(of_views)), of_views, height=0.6, color=BLUE)
    beside.set(ylim=(len(of_views) - 0.5, -0.5), xlim=(0, 1.45 * of_views.max()), xticks=[], yticks=[])
    for row, share in enumerate(of_views):
        beside.text(share, row, f" {share:.1f}", va="center", size=7)
    above.bar(range(len(of_kernels)), of_kernels, width=0.6, color=BLUE)
    above.set(xlim=(-0.5, len(of_kernels) - 0.5), ylim=(0, 1.45 * of_kernels.max()), xticks=[], yticks=[])
    for column, share in enumerate(of_kernels):
        above.text(column, share, f"{share:.1f}", ha="center", va="bottom", size=7)


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.1f}"
