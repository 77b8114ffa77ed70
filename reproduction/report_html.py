"""The report as one HTML page that needs nothing else: figures, thumbnails and style are inside it."""

from __future__ import annotations

from gramless.support.packages import needed
from gramless.support.pages import render
from reproduction.report import Reproduction


def as_html(report: Reproduction) -> str:
    for package in ("jinja2", "matplotlib"):
        needed(package)
    from markupsafe import Markup

    from reproduction.report_figures import as_svg

    drawings = {
        figure: Markup(as_svg(figure, f"figure{i}-{j}"))
        for i, section in enumerate(report.sections)
        for j, figure in enumerate(section.figures)
        if figure.curves
    }
    return render("reproduction", "reproduction.html", report=report, drawings=drawings)
