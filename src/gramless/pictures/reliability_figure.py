"""A picture of whether a model's probabilities mean what they say."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gramless.figures.drawing import BLUE, INK, PALE, QUIET, axes_style
from gramless.metrics import ReliabilityBin
from gramless.support.packages import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160


def reliability_png(bins: Sequence[ReliabilityBin]) -> bytes:
    """Share of right answers against probability, bin by bin, and below it how many answers each bin has."""
    needed("matplotlib")
    from matplotlib import rc_context

    file = io.BytesIO()
    with rc_context({"font.family": "DejaVu Sans", "font.size": 8, **axes_style(INK, QUIET, 0.6)}):
        _draw(bins).savefig(file, format="png", dpi=DOTS_PER_INCH)
    return file.getvalue()


def _draw(bins: Sequence[ReliabilityBin]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((4.2, 4.4), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    predicted, observed = [found.predicted for found in bins], [found.observed for found in bins]
    top.plot([0, 1], [0, 1], color=PALE, linewidth=1.2, zorder=1)
    top.plot(predicted, observed, color=BLUE, marker="o", markersize=4, linewidth=1.2, zorder=2)
    top.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="share that is right")
    top.set_title("What probabilities say, and what is so", loc="left", weight="bold", size=10)
    below.bar(predicted, [found.n_answers for found in bins], width=0.04, color=BLUE)
    below.set(yscale="log", ylabel="answers", xlabel="probability of a keyword")
    return figure
