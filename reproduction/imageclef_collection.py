"""ImageCLEF's pictures from files in its layout: those with labels, then as many of the web as the paper used."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gramless.errors import DataError
from gramless.views import Views
from reproduction.collection import Collection
from reproduction.imageclef_files import feature_files, read_features, read_imageclef

MOST_UNLABELLED = 9_000  # pictures of the web: with the development set, the 10,000 of the paper's tables


def open_imageclef(data: Path) -> Collection:
    """The development set, one random half for training and the other for testing, then pictures of the web.

    The latter come from files `*_train_visual_<descriptor>.feat(.gz)`, where every descriptor has one.
    """
    development = read_imageclef(data, "devel")
    order = np.random.default_rng(0).permutation(len(development.names))
    blocks = {name: development.views[name][order].toarray() for name in development.views.names}
    web = feature_files(data, "train")
    if blocks.keys() <= web.keys():
        blocks = {name: np.concatenate([block, _unlabelled(web[name], block)]) for name, block in blocks.items()}
    names = tuple(development.names[i] for i in order)
    return Collection(Views(blocks), development.labels[order], len(order) // 2, development.keywords, names)


def _unlabelled(path: Path, labelled: np.ndarray) -> np.ndarray:
    """The vectors of pictures of the web, by the descriptor that the labelled ones have."""
    found = read_features(path, MOST_UNLABELLED).toarray()
    if found.shape[1] != labelled.shape[1]:
        raise DataError(
            f"{path} has vectors of {found.shape[1]} numbers, but those of the development set have "
            f"{labelled.shape[1]}: they are not of one descriptor. Copy the file again, or take it out of the folder."
        )
    return np.asarray(found)
