"""The handcrafted views of one picture, with everything that several of them need computed once."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from gramless.pictures.features.colour import colour_histograms
from gramless.pictures.features.gist import gist
from gramless.pictures.features.histograms import Floats, shares
from gramless.pictures.features.local import local_descriptors
from gramless.pictures.features.names import BANDED, COLOURS, vocabularies_of
from gramless.pictures.features.pictures import Picture
from gramless.pictures.features.words import word_counts

DESCRIPTORS_PER_PICTURE = 200


def handcrafted_views(picture: Picture, names: Sequence[str], words: Mapping[str, Floats]) -> dict[str, Floats]:
    """The rows of the named views; words : the vocabularies by the name of their view, (n_words, width) each."""
    rows: dict[str, Floats] = {}
    if "Gist" in names:
        rows["Gist"] = gist(picture)
    for space in COLOURS:
        if space in names or f"{space}{BANDED}" in names:
            rows |= colour_histograms(picture, space)
    for view, (descriptors, bands) in local_descriptors(picture, vocabularies_of(names)).items():
        counts = word_counts(descriptors, bands, words[view])
        rows |= {view: shares(counts.sum(axis=0)), f"{view}{BANDED}": shares(counts)}
    return {name: rows[name] for name in names}


def sampled_descriptors(picture: Picture, names: Sequence[str], seed: int) -> dict[str, Floats]:
    """Up to 200 descriptors of each named local view in one flat row; which ones, the seed and the picture decide."""
    random = np.random.default_rng([seed, zlib.crc32(picture.tobytes())])
    rows = {}
    for view, (descriptors, _) in local_descriptors(picture, names).items():
        size = min(DESCRIPTORS_PER_PICTURE, len(descriptors))
        rows[view] = descriptors[random.choice(len(descriptors), size, replace=False)].ravel()
    return rows
