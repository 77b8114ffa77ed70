"""Views: feature blocks that share rows; the one input type inside the package."""

from gramless.views.views import (
    Columns,
    Layout,
    Views,
    check_layout,
    column_list,
    is_multiview,
    loses_nothing,
    refuse_ambiguous,
    rounded,
    side_by_side,
)

__all__ = [
    "Columns",
    "Layout",
    "Views",
    "check_layout",
    "column_list",
    "is_multiview",
    "loses_nothing",
    "refuse_ambiguous",
    "rounded",
    "side_by_side",
]
