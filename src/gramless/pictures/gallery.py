"""Annotated pictures as one HTML page that needs nothing else: thumbnails, style and script are inside it."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gramless.errors import DataError
from gramless.pictures.annotation.annotator import Annotation
from gramless.pictures.features.pictures import PictureError, data_uri, make_thumbnail
from gramless.support.atomic import write_atomically
from gramless.support.packages import needed
from gramless.support.pages import render, spread_evenly
from gramless.support.progress import ProgressBar

THUMBNAIL_SIDE = 360  # twice the pixels of its place on the page, for screens with small ones
MOST_PICTURES = 200  # about 5 MB; browsers get slow with pages much larger


class Card(NamedTuple):
    """What the page shows of one picture; without a thumbnail, the reason."""

    annotation: Annotation
    thumbnail: str
    reason: str


def save_gallery(
    path: str | os.PathLike[str],
    annotations: Sequence[Annotation],
    title: str,
    summary: Mapping[str, str],
    limit: int = MOST_PICTURES,
    figure: bytes = b"",
) -> None:
    """Write the page: every picture with its keywords and scores, and where the truth is known what was missed.

    `summary` names figures that stand at the top, such as {"mean F": "41.3 %"}. Of more than `limit` pictures, so many
    are shown, evenly spread over all of them, and the page says so. `figure` is a PNG that stands below the figures.
    """
    if limit < 1:
        raise DataError(f"a gallery shows at least one picture, got limit={limit}.")
    needed("jinja2")  # before the work
    shown = spread_evenly(annotations, limit)
    cards = []
    with ProgressBar("drawing the gallery", len(shown)) as bar:
        for annotation in shown:
            cards.append(_card(annotation))
            bar.advance()
    page = render(
        "gramless.pictures",
        "gallery.html",
        title=title,
        summary=summary,
        cards=cards,
        n_all=len(annotations),
        figure=f"data:image/png;base64,{base64.b64encode(figure).decode()}" if figure else "",
        vocabulary=sorted({word for annotation in shown for word in (*annotation.keywords, *annotation.missed)}),
    )
    write_atomically(path, lambda file: file.write(page.encode("utf-8", "replace")))


def _card(annotation: Annotation) -> Card:
    try:
        return Card(annotation, data_uri(make_thumbnail(annotation.path, THUMBNAIL_SIDE)), "")
    except PictureError as error:
        return Card(annotation, "", error.reason)
