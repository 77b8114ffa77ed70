"""The visual words of a collection, learned on a sample of its pictures and kept in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from gramless.errors import DataError
from gramless.pictures.features.cache import FeatureCache
from gramless.pictures.features.handcrafted import DESCRIPTORS_PER_PICTURE, sampled_descriptors
from gramless.pictures.features.histograms import Floats
from gramless.pictures.features.local import LOCAL_VIEWS
from gramless.pictures.features.pictures import PictureError, Source, content_hash
from gramless.pictures.features.recipes import recipe
from gramless.pictures.features.rows import Row, compute_rows
from gramless.pictures.features.words import learn_words
from gramless.support.progress import ProgressBar, Waiting

MOST_PICTURES = 1500


def learn_vocabularies(
    sources: Sequence[Source], views: Sequence[str], *, seed: int, cache: FeatureCache | None, n_jobs: int | None
) -> dict[str, Floats]:
    """The words of each named local view, (n_words, width), from at most 1,500 of the pictures.

    The descriptors of the sample are kept in the cache until its words are known, so that Ctrl-C costs little.
    """
    if not views:
        return {}
    random = np.random.default_rng(seed)
    chosen = np.sort(random.choice(len(sources), min(MOST_PICTURES, len(sources)), replace=False))
    sample = [sources[i] for i in chosen]
    recipes = {view: f"words of {recipe(view)}, seed {seed}" for view in views}
    content = _content(sample) if cache else b""
    words = {}
    for view in views:
        for _, numbers in cache.find(recipes[view], [content]) if cache else ():
            words[view] = numbers.reshape(-1, LOCAL_VIEWS[view].width)
    lacking = [view for view in views if view not in words]
    found = _descriptors(sample, lacking, seed, cache, n_jobs)
    with ProgressBar("visual words", len(found)) as progress:
        for view, descriptors in found.items():
            with Waiting(f"visual words of {view}"):  # until there is a first view to estimate by
                words[view] = learn_words(descriptors, LOCAL_VIEWS[view].words, seed)
            if cache:
                cache.keep(recipes[view], content, words[view].ravel())
                cache.save()
                cache.forget(_descriptors_recipe(view, seed))
            progress.advance()
    return {view: words[view] for view in views}


def _descriptors(
    sample: Sequence[Source], views: Sequence[str], seed: int, cache: FeatureCache | None, n_jobs: int | None
) -> dict[str, Floats]:
    """Descriptors of each view, (n, width), in the order of the pictures."""
    if not views:
        return {}
    recipes = {view: _descriptors_recipe(view, seed) for view in views}
    describe = partial(sampled_descriptors, seed=seed)
    found: dict[str, dict[int, Floats]] = {view: {} for view in views}
    reason = "no picture came"
    with ProgressBar("local descriptors", len(sample)) as progress:
        for result in compute_rows(sample, recipes, describe, progress=progress, cache=cache, n_jobs=n_jobs):
            if isinstance(result, Row):
                found[result.name][result.position] = result.numbers
            else:
                reason = "picture {} {}".format(*result)
    if not any(found.values()):
        raise DataError(f"visual words are learned on pictures, but none can be read: {reason}. Give other pictures.")
    return {
        view: np.concatenate([rows[i] for i in sorted(rows)]).reshape(-1, LOCAL_VIEWS[view].width)
        for view, rows in found.items()
    }


def _descriptors_recipe(view: str, seed: int) -> str:
    return f"{DESCRIPTORS_PER_PICTURE} descriptors of {recipe(view)}, seed {seed}"


def _content(sample: Sequence[Source]) -> bytes:
    """A hash of all pictures that can be opened."""
    joint = hashlib.sha256()
    for source in sample:
        with suppress(PictureError):
            joint.update(content_hash(source))
    return joint.digest()
