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

from gramless import DataError, GramlessError, Views
from gramless.pictures.datasets import AnnotatedPictures, read_corel5k
from gramless.pictures.features import FeatureCache, PictureFeatures
from gramless.pictures.features.rows import recipe
from gramless.support.atomic import write_atomically
from gramless.support.progress import ProgressBar

LIST = "collection.json"
FORMAT = 2


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
        first, reason = next(iter(described.unreadable.items()))
        raise DataError(
            f"{len(described.unreadable)} pictures of {data} cannot be read; {names[first]} {reason}. The "
            "split that papers report on is whole: copy these pictures again."
        )
    labels = np.concatenate([train.labels, test.labels])
    return Collection(described.views, labels, len(train), train.keywords, names)


def check_same(kept: Collection, folder: Path, data: Path) -> None:
    """Refuse a folder of COREL5k whose split is not the one that the features in `folder` were kept for."""
    train, test = read_corel5k(data, "train"), read_corel5k(data, "test")
    difference = _difference(kept, train, test)
    if difference:
        raise DataError(
            f"{folder} has the features of another data set than {data}: {difference}. Give another --out, or the "
            f"folder of the pictures that were described; or remove {folder}, and it is made again."
        )


def _difference(kept: Collection, train: AnnotatedPictures, test: AnnotatedPictures) -> str:
    """The first thing in which a split is not the one that was kept; nothing where it is the same."""
    if train.keywords != kept.keywords:
        return f"its {len(train.keywords)} keywords are not the {len(kept.keywords)} that were kept"
    if (len(train), len(test)) != (len(kept.train), len(kept.test)):
        return (
            f"{len(kept.train)} training and {len(kept.test)} test pictures were kept, and it has {len(train)} and "
            f"{len(test)}"
        )
    for number, (ours, theirs) in enumerate(zip(kept.names, (*train.names, *test.names), strict=True), 1):
        if ours != theirs:
            return f"picture {number} was {ours}, and is {theirs}"
    changed = np.flatnonzero((kept.labels != np.concatenate([train.labels, test.labels])).any(axis=1))
    if len(changed):
        return f"{len(changed)} pictures had other keywords, {kept.names[changed[0]]} first"
    return ""


def save_collection(collection: Collection, folder: Path) -> None:
    """One compressed file per view, and a list that is written last: a folder with the list is complete.

    The list has the recipe of every view, so that features of an older one are not taken for today's. The features of
    COREL5k are 65 MiB so, and can be taken to another machine without its pictures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LIST).unlink(missing_ok=True)  # it would vouch for a mixture of old and new views
    with ProgressBar("keeping features", len(collection.views.names)) as progress:
        for name in collection.views.names:
            block = np.ascontiguousarray(collection.views[name])
            write_atomically(_file(folder, name), lambda file, block=block: np.savez_compressed(file, block=block))  # type: ignore[misc]
            progress.advance()
    content = {
        "format": FORMAT,
        "views": {name: recipe(name) for name in collection.views.names},
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
    """What save_collection wrote, by these views.

    None where it lacks one of them or has it by another recipe, and where it was not written whole.
    """
    content = _listed(folder, views)
    if content is None:
        return None
    labels = np.zeros((len(content["labels"]), len(content["keywords"])), dtype=np.int8)
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
    """The list of a folder that has all these views as they are made today."""
    try:
        content = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DataError(f"{folder / LIST} is damaged ({error}). Remove {folder}, and it is made again.") from error
    if content.get("format") != FORMAT or not all(_is_of_today(name, content["views"].get(name)) for name in views):
        return None
    return dict(content)


def _is_of_today(view: str, kept: str | None) -> bool:
    """Whether a view's recipe, None for a view that was not kept, is that of this version of the package.

    Visual words are left out of recipes here: they follow from the training pictures and these recipes.
    """
    try:
        return kept == recipe(view)
    except GramlessError:  # a network that is not on this machine: features that were brought here are all there are
        return kept is not None


def _file(folder: Path, view: str) -> Path:
    return folder / f"{view.replace(':', '-').replace('/', '-')}.npz"
