"""What the annotate commands are given: a model, annotated pictures, a cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gramless.cli.problems import refuse, say

if TYPE_CHECKING:
    from gramless.pictures.annotation import Choice
    from gramless.pictures.datasets import AnnotatedPictures
    from gramless.pictures.features import FeatureCache

ModelFile = Annotated[Path, typer.Argument(help="A model that `gramless annotate fit` made.", show_default=False)]
KeywordFile = Annotated[
    Path | None,
    typer.Option(
        help="CSV (file, keywords; several with ; between them) or JSON. Without it, the keywords that the pictures "
        "carry (XMP, IPTC, EXIF, sidecars), or else the names of the folders that they are in.",
        show_default=False,
    ),
]
Folders = Annotated[
    bool, typer.Option("--folders", help="Take the names of folders as keywords, whatever the pictures carry.")
]
Top = Annotated[
    int | None, typer.Option(min=1, help="So many keywords per picture. Without it: as many as a picture deserves.")
]
LeastProbability = Annotated[
    float | None, typer.Option(min=0, max=1, help="Instead: all keywords with at least this probability.")
]
WantedPrecision = Annotated[
    float | None,
    typer.Option(min=0.01, max=1, help="Instead: as many keywords as can be, this share of them right (0.9)."),
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE.png", help="Draw whether probabilities mean what they say.", show_default=False),
]
Gallery = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help="Show the pictures on a page as well.", show_default=False)
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Keep features there, and find them the next time.", show_default=False),
]


def read_pictures(
    folder: Path, keywords: Path | None, part: Literal["train", "test"], *, folders: bool
) -> AnnotatedPictures:
    """The annotated pictures of a folder; of a COREL5k folder the named part of its official split."""
    from gramless.pictures.datasets import is_corel5k, read_annotated, read_corel5k

    if keywords is not None and folders:
        refuse(f"--keywords {keywords} and --folders: keywords are taken from one of them. Leave the other away.")
    if not is_corel5k(folder):
        annotated = read_annotated(folder, keywords, folders=folders)
        say(f"keywords of {len(annotated):,} pictures from {annotated.source}")
        return annotated
    if keywords is not None:
        refuse(f"{folder} is COREL5k, which has keywords of its own. Leave --keywords away, or give its images folder.")
    return read_corel5k(folder, part)


def one_choice(top: int | None, threshold: float | None, precision: float | None) -> Choice:
    """How keywords are chosen; two ways at once are refused."""
    choice: Choice = {"top": top, "threshold": threshold, "precision": precision}
    named = [f"--{name}" for name, value in choice.items() if value is not None]
    if len(named) > 1:
        refuse(f"{' and '.join(named)}: keywords are chosen in one way. Give one of them.")
    return choice


@contextmanager
def opened(cache: Path | None) -> Iterator[FeatureCache | None]:
    """The cache in a folder, closed at the end; None without a folder."""
    from gramless.pictures.features import FeatureCache

    if cache is None:
        yield None
        return
    with closing(FeatureCache(cache)) as rows:
        yield rows
