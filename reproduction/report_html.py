"""The report as one HTML page that needs nothing else: figures, thumbnails and style are inside it.

Curves are SVG that takes its colours from the page, light or dark.
"""

from __future__ import annotations

import io

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator

from gramless.figures.drawing import axes_style
from gramless.support.pages import render
from reproduction.report import Figure, Reproduction


def as_html(report: Reproduction) -> str:
    drawings = {
        figure: Markup(as_svg(figure, f"figure{i}-{j}"))
        for i, section in enumerate(report.sections)
        for j, figure in enumerate(section.figures)
        if figure.curves
    }
    return render("reproduction", "reproduction.html", report=report, drawings=drawings)


INK, QUIET = "#111213", "#717273"  # stand for the page's colours, which replace them
COLOURS = ("#111001", "#111002", "#111003", "#111004", "#111005", "#111006", "#111007", "#111008")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
REPLACED = {INK: "var(--ink)", QUIET: "var(--quiet)"} | {
    colour: f"var(--curve{number})" for number, colour in enumerate(COLOURS, 1)
}
STYLE = axes_style(INK, QUIET, 0.8) | {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 11,
    "legend.frameon": False,
    "legend.fontsize": 10,
}
INCHES = (4.8, 4.2)  # small, so that text stays readable at the width of a phone


def as_svg(figure: Figure, name: str) -> str:
    """An <svg> element; `name` keeps the parts of several in one page apart."""
    with rc_context(STYLE | {"svg.hashsalt": name}):
        drawing = Drawing(INCHES, layout="constrained")
        drawing.patch.set_alpha(0.0)
        FigureCanvasSVG(drawing)
        axes = drawing.add_subplot()
        axes.patch.set_alpha(0.0)
        for number, curve in enumerate(figure.curves):
            axes.plot(
                curve.x,
                curve.y,
                label=curve.label,
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)] if len(curve.x) < 40 else "",
                markersize=5,
                linestyle="--" if curve.paper else "-",
            )
        if figure.logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xticks(sorted({x for curve in figure.curves for x in curve.x}))
            axes.minorticks_off()
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
            axes.tick_params(axis="x", labelrotation=30)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel(figure.x_label)
        axes.set_ylabel(figure.y_label)
        axes.grid(color=QUIET, alpha=0.25, linewidth=0.6)
        drawing.legend(loc="outside lower center")
        file = io.StringIO()
        drawing.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    for stand_in, colour in REPLACED.items():
        text = text.replace(stand_in, colour)
    for reference in ('id="', 'href="#', "url(#"):
        text = text.replace(reference, f"{reference}{name}-")
    return text.replace("<svg ", '<svg role="img" ', 1)
