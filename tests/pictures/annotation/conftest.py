"""Drawn scenes with their features in a cache, and one model of their keywords for all tests that ask it something."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from gramless.pictures.annotation import FittedAnnotator, fit_annotator
from gramless.pictures.datasets import AnnotatedPictures, read_annotated
from gramless.pictures.features import FeatureCache, PictureFeatures
from gramless.pictures.scenes import write_scenes

VIEWS = ("Rgb", "Gist")
N_TRAIN, N_TEST = 60, 20


@dataclass(frozen=True)
class Scenes:
    """`train` has one picture more than it says: a file that is no picture. One keyword is that of one picture only."""

    train: AnnotatedPictures
    test: AnnotatedPictures
    features: Path  # a folder with a cache of all features, to be copied

    def cache(self, folder: Path) -> FeatureCache:
        """A cache of one's own in which all features are known."""
        shutil.copytree(self.features, folder, dirs_exist_ok=True)
        return FeatureCache(folder)


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    folder = tmp_path_factory.mktemp("scenes")
    keywords = write_scenes(folder / "drawn", N_TRAIN + N_TEST, seed=3)
    pictures = read_annotated(folder / "drawn", keywords)
    cache = FeatureCache(folder / "features")
    PictureFeatures(VIEWS, {}).describe(pictures.paths, cache=cache, n_jobs=1)
    cache.close()
    broken = folder / "broken.jpg"
    broken.write_bytes(b"no picture")
    unique = np.zeros((N_TRAIN + 1, 1), dtype=np.int8)
    unique[7] = 1
    train = replace(
        pictures,
        paths=(*pictures.paths[:N_TRAIN], broken),
        names=(*pictures.names[:N_TRAIN], "broken.jpg"),
        keywords=(*pictures.keywords, "unique"),
        labels=np.hstack([np.vstack([pictures.labels[:N_TRAIN], pictures.labels[:1]]), unique]),
    )
    return Scenes(train, pictures[N_TRAIN:], folder / "features")


@pytest.fixture(scope="session")
def fitted(scenes: Scenes, tmp_path_factory: pytest.TempPathFactory) -> FittedAnnotator:
    return fit_annotator(scenes.train, VIEWS, cache=scenes.cache(tmp_path_factory.mktemp("fitted")))
