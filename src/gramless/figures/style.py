"""The look that all figures share."""

from __future__ import annotations

from typing import Any

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
