"""Visual words: a vocabulary of typical descriptors, and how often a picture uses each word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from gramless.pictures.features.histograms import BANDS, Floats


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
