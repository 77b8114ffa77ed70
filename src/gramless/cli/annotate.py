"""`gramless annotate`: the commands about keywords of pictures."""

from __future__ import annotations

import typer

from gramless.cli.imported import add_imported

COMMANDS = {
    "fit": ("gramless.cli.annotate_fit:fit", "Learn your keywords from your pictures."),
    "predict": ("gramless.cli.annotate_predict:predict", "Give pictures keywords."),
    "evaluate": (
        "gramless.cli.annotate_evaluate:evaluate",
        "Compare a model's keywords with those that people gave.",
    ),
    "undo": (
        "gramless.cli.annotate_undo:undo",
        "Take back every keyword that `predict --to xmp` or `--embed` wrote; what people wrote stays.",
    ),
    "watch": (
        "gramless.cli.annotate_watch:watch",
        "Write keywords beside new pictures, as `predict --to xmp` does, until Ctrl-C.",
    ),
    "show": (
        "gramless.cli.annotate_show:show",
        "What a model has learned: its keywords, and the views and kernels that it looks at.",
    ),
}
"""By name: the function, and the first line of what it says of itself."""

annotate = typer.Typer(no_args_is_help=True, help="Keywords for pictures, learned from your own.")
for name, (function, summary) in COMMANDS.items():
    add_imported(annotate, name, function, summary)
