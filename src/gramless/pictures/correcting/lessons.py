"""What an open folder has to teach: of which pictures people said what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gramless.pictures.correcting.labels import REST
from gramless.pictures.correcting.learning import Taught
from gramless.pictures.datasets import AnnotatedPictures
from gramless.pictures.datasets.annotated import mark_keywords
from gramless.pictures.features import PictureError, make_thumbnail

if TYPE_CHECKING:
    from gramless.pictures.correcting.open_folder import OpenFolder

ALBUM_SIDE = 160


def taught_by(folder: OpenFolder, positions: Sequence[int]) -> Taught:
    """These pictures, which are described, for classifiers on the map as it is."""
    return Taught(
        tuple(folder.listing.names[i] for i in positions),
        folder.suggestions.vectors[list(positions)].astype(np.float32),
        tuple(folder.said(i) for i in positions),
        tuple(_for_album(folder, i) for i in positions),
    )


def fully_known(folder: OpenFolder) -> AnnotatedPictures:
    """Pictures whose keywords are all known, those of the model's training included, for a kernel of their own."""
    known = [i for i in dict.fromkeys([*folder.training, *folder.spoken_of()]) if REST in folder.said(i)]
    has = [[keyword for keyword, yes in folder.said(i).items() if yes] for i in known]
    vocabulary = sorted({keyword for row in has for keyword in row})
    paths = tuple(folder.listing.paths[i] for i in known)
    names = tuple(folder.listing.names[i] for i in known)
    return AnnotatedPictures(paths, names, tuple(vocabulary), mark_keywords(has, vocabulary), ())


def _for_album(folder: OpenFolder, position: int) -> bytes:
    """From the thumbnail that the page has shown: the file itself would take ten times as long."""
    try:
        return make_thumbnail(folder.thumbnail(position), ALBUM_SIDE)
    except PictureError:
        return b""
