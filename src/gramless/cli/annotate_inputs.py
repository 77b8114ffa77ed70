"""What the annotate commands are given: a model, annotated pictures, a cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from gramless.cli.problems import refuse
from gramless.errors import GramlessError
from gramless.pictures.annotation import Annotator
from gramless.pictures.datasets import AnnotatedPictures, is_corel5k, read_annotated, read_corel5k
from gramless.pictures.features import FeatureCache
from gramless.storage import load
from gramless.support.progress import Waiting

ModelFile = Annotated[Path, typer.Argument(help="A model that `gramless annotate fit` made.", show_default=False)]
KeywordFile = Annotated[
    Path | None,
    typer.Option(
        help="CSV (file, keywords; several with ; between them) or JSON. Without it, pictures have the names of the "
        "folders that they are in as keywords.",
        show_default=False,
    ),
]
Gallery = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help="Show the pictures on a page as well.", show_default=False)
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Keep features there, and find them the next time.", show_default=False),
]


def load_annotator(file: Path) -> Annotator:
    """The model of keywords in a file; an error where the file holds something else."""
    if file.is_file():
        file.open("rb").close()  # where it may not be read, safetensors would say that it is not there
    with Waiting("loading the model"):
        model = load(file)
    if not isinstance(model, Annotator):
        raise GramlessError(
            f"{file} holds a {type(model).__name__}, not a model of keywords. Make one with: gramless annotate fit"
        )
    return model


def read_pictures(folder: Path, keywords: Path | None, part: Literal["train", "test"]) -> AnnotatedPictures:
    """The annotated pictures of a folder; of a COREL5k folder the named part of its official split."""
    if not is_corel5k(folder):
        return read_annotated(folder, keywords)
    if keywords is not None:
        refuse(f"{folder} is COREL5k, which has keywords of its own. Leave --keywords away, or give its images folder.")
    return read_corel5k(folder, part)


@contextmanager
def opened(cache: Path | None) -> Iterator[FeatureCache | None]:
    """The cache in a folder, closed at the end; None without a folder."""
    if cache is None:
        yield None
        return
    with closing(FeatureCache(cache)) as rows:
        yield rows
