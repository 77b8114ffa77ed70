"""Described pictures and their keywords, training pictures first: what all tables of a data set are computed from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gramless.atomic import write_atomically
from gramless.datasets import read_corel5k
from gramless.errors import DataError
from gramless.features import FeatureCache, PictureFeatures
from gramless.progress import ProgressBar
from gramless.views import Views

LIST = "collection.json"
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Collection:
    """Views of n pictures, and labels (n_labelled, n_keywords) of 0 and 1 of the first of them.

    The first n_train are for training, the other labelled ones for testing; those without labels are for tuning.
    """

    views: Views
    labels: np.ndarray
    n_train: int
    keywords: tuple[str, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.views)

    @property
    def train(self) -> np.ndarray:
        return np.arange(self.n_train)

    @property
    def test(self) -> np.ndarray:
        return np.arange(self.n_train, len(self.labels))

    def with_views(self, names: Sequence[str]) -> Collection:
        """The same pictures by some of their views."""
        return replace(self, views=Views({name: self.views[name] for name in names}))

    @cached_property
    def sha256(self) -> str:
        """A hash of the numbers, so that whatever is computed from others is not taken for these."""
        digest = hashlib.sha256(json.dumps([self.views.layout, self.n_train, self.keywords]).encode())
        for block in (np.packbits(self.labels > 0), *(self.views[name] for name in self.views.names)):
            digest.update(np.ascontiguousarray(block).tobytes())
        return digest.hexdigest()[:16]


def describe_corel5k(data: Path, views: Sequence[str], cache: FeatureCache | None) -> Collection:
    """COREL5k by its official split; visual words are learned on training pictures."""
    train, test = read_corel5k(data, "train"), read_corel5k(data, "test")
    features = PictureFeatures.learn(train.paths, views, cache=cache)
    described = features.describe((*train.paths, *test.paths), cache=cache)
    names = (*train.names, *test.names)
    if described.views is None or described.unreadable:
        bad = described.unreadable[0]
        raise DataError(
            f"{len(described.unreadable)} pictures of {data} cannot be read; {names[bad.position]} {bad.reason}. The "
            "split that papers report on is whole: copy these pictures again."
        )
    labels = np.concatenate([train.labels, test.labels])
    return Collection(described.views, labels, len(train), train.keywords, names)


def save_collection(collection: Collection, folder: Path) -> None:
    """One compressed file per view, and a list that is written last: a folder with the list is complete.

    The features of COREL5k are 65 MiB so, and can be taken to another machine without its pictures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ProgressBar("keeping features", len(collection.views.names)) as progress:
        for name in collection.views.names:
            block = np.ascontiguousarray(collection.views[name])
            write_atomically(_file(folder, name), lambda file, block=block: np.savez_compressed(file, block=block))  # type: ignore[misc]
            progress.advance()
    content = {
        "format": FORMAT,
        "views": list(collection.views.names),
        "n_train": collection.n_train,
        "keywords": list(collection.keywords),
        "names": list(collection.names),
        "labels": [np.flatnonzero(row).tolist() for row in collection.labels],
    }
    text = json.dumps(content)
    write_atomically(folder / LIST, lambda file: file.write(text.encode()))


def holds_views(folder: Path, views: Sequence[str]) -> bool:
    """Whether load_collection would find these views."""
    return _listed(folder, views) is not None


def load_collection(folder: Path, views: Sequence[str]) -> Collection | None:
    """What save_collection wrote, by these views; None where it lacks one of them, or was not written whole."""
    content = _listed(folder, views)
    if content is None:
        return None
    labels = np.zeros((len(content["names"]), len(content["keywords"])), dtype=np.int8)
    for row, present in zip(labels, content["labels"], strict=True):
        row[present] = 1
    blocks = {}
    for name in views:
        try:
            with np.load(_file(folder, name)) as file:
                blocks[name] = file["block"]
        except Exception as error:  # a damaged archive fails in many ways
            raise DataError(f"{_file(folder, name)} cannot be read ({error}). Remove {folder}.") from error
    return Collection(Views(blocks), labels, content["n_train"], tuple(content["keywords"]), tuple(content["names"]))


def _listed(folder: Path, views: Sequence[str]) -> dict[str, Any] | None:
    """The list of a folder that has all these views."""
    try:
        content = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DataError(f"{folder / LIST} is damaged ({error}). Remove {folder}, and it is made again.") from error
    if content.get("format") != FORMAT or not set(views) <= set(content["views"]):
        return None
    return dict(content)


def _file(folder: Path, view: str) -> Path:
    return folder / f"{view.replace(':', '-').replace('/', '-')}.npz"
