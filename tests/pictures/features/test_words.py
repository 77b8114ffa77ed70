"""Visual words: k-means that finds clusters, counts against a loop."""

import numpy as np
import pytest

from gramless.pictures.features.handcrafted import learn_words, word_counts
from tests.pictures.features import oracles


def test_counts_are_of_the_nearest_words(rng):
    descriptors, words = rng.random((200, 7), dtype=np.float32), rng.random((11, 7), dtype=np.float32)
    bands = rng.integers(0, 3, 200)
    counts = word_counts(descriptors, bands, words)
    np.testing.assert_array_equal(counts, oracles.word_counts(descriptors, bands, words))


def test_no_descriptors_are_no_counts(rng):
    counts = word_counts(np.empty((0, 7), np.float32), np.empty(0, np.intp), rng.random((11, 7), dtype=np.float32))
    np.testing.assert_array_equal(counts, np.zeros((3, 11)))


def test_words_are_the_centres_of_clusters(rng):
    centres = 100 * rng.random((5, 7))
    descriptors = (np.repeat(centres, 400, axis=0) + rng.normal(0, 0.1, (2000, 7))).astype(np.float32)
    words = learn_words(rng.permutation(descriptors), 5, seed=0)
    assert words.dtype == np.float32
    for centre in centres:
        assert np.linalg.norm(words - centre, axis=1).min() < 0.2


@pytest.mark.parametrize(("n", "expected"), [(0, 1), (1, 1), (3, 3)])
def test_fewer_descriptors_make_fewer_words(n, expected, rng):
    assert learn_words(rng.random((n, 7), dtype=np.float32), 10, seed=0).shape == (expected, 7)


def test_the_seed_decides(rng):
    descriptors = rng.random((500, 7), dtype=np.float32)
    first, again, other = (learn_words(descriptors, 20, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
