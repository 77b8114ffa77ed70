"""The report as one HTML page that needs nothing else: figures, thumbnails and style are inside it."""

from __future__ import annotations

from gramless.features.packages import needed
from gramless.report.reproduction import Reproduction


def as_html(report: Reproduction) -> str:
    for package in ("jinja2", "matplotlib"):
        needed(package)
    import jinja2
    from markupsafe import Markup

    from gramless.report.reproduction_figures import as_svg

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gramless.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawings = {
        figure: Markup(as_svg(figure, f"figure{i}-{j}"))
        for i, section in enumerate(report.sections)
        for j, figure in enumerate(section.figures)
        if figure.curves
    }
    return environment.get_template("reproduction.html").render(report=report, drawings=drawings)
