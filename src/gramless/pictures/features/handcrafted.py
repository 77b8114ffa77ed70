"""The handcrafted views of a picture, and the visual words that they count, learned on a sample of the pictures."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from gramless.errors import DataError
from gramless.pictures.features.cache import FeatureCache
from gramless.pictures.features.gist import gist
from gramless.pictures.features.histograms import BANDS, Floats, colour_histograms, shares
from gramless.pictures.features.local import LOCAL_VIEWS, local_descriptors
from gramless.pictures.features.names import BANDED, COLOURS, DESCRIPTOR_WIDTHS, vocabularies_of
from gramless.pictures.features.pictures import Picture, PictureError, Source, content_hash
from gramless.pictures.features.rows import compute_rows, recipe
from gramless.support.progress import ProgressBar, Waiting

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


def learn_words(descriptors: Floats, n_words: int, seed: int) -> Floats:
    """The centres of k-means over descriptors (n, width): (n_words, width), or fewer where there are fewer descriptors.

    Of no descriptor at all, one word of zeros is made, so that the view is there and says nothing.
    """
    if not len(descriptors):
        return np.zeros((1, descriptors.shape[1]), dtype=np.float32)
    means = MiniBatchKMeans(
        min(n_words, len(descriptors)),
        batch_size=10_000,
        max_iter=30,
        n_init=1,
        reassignment_ratio=0.01,
        random_state=seed,
    )
    return np.asarray(means.fit(descriptors).cluster_centers_, dtype=np.float32)


def word_counts(descriptors: Floats, bands: NDArray[np.intp], words: Floats) -> NDArray[np.intp]:
    """How often each word is the nearest to a descriptor of each band: (BANDS, n_words)."""
    nearest = np.argmin((words**2).sum(axis=1) - 2 * (descriptors @ words.T), axis=1)
    counts = np.bincount(bands * len(words) + nearest, minlength=BANDS * len(words))
    return counts.reshape(BANDS, len(words))


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
            words[view] = numbers.reshape(-1, DESCRIPTOR_WIDTHS[view])
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
    with ProgressBar("local descriptors", len(sample)) as progress:
        found, unreadable = compute_rows(sample, recipes, describe, progress=progress, cache=cache, n_jobs=n_jobs)
    if not any(found.values()):
        reason = "picture {} {}".format(*unreadable.popitem()) if unreadable else "got no picture"
        raise DataError(f"visual words are learned on pictures, but none can be read: {reason}. Give other pictures.")
    return {
        view: np.concatenate([rows[i] for i in sorted(rows)]).reshape(-1, DESCRIPTOR_WIDTHS[view])
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
