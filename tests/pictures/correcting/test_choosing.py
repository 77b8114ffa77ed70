"""Which next, against the definition spelled out."""

import time

import numpy as np
import pytest

from gramless.pictures.correcting.orders import MOST_COMPARED, which_next


def squared(a, b):
    return float(((a - b) ** 2).sum())


@pytest.mark.parametrize("n_asked", [0, 1, 30])
def test_the_next_is_the_one_that_lessens_the_distances_most(rng, n_asked):
    vectors, asked = rng.normal(size=(50, 5)), rng.normal(size=(n_asked, 5))
    found = which_next(vectors, asked, 12).tolist()
    farthest = max(squared(a, b) for a in vectors for b in vectors)
    for place, here in enumerate(found):
        taken = found[:place]
        known = [*asked, *(vectors[i] for i in taken)]
        nearest = [min((squared(z, other) for other in known), default=farthest) for z in vectors]
        worth = [sum(max(0.0, d - squared(z, x)) for z, d in zip(vectors, nearest, strict=True)) for x in vectors]
        assert here not in taken
        # Two pictures that are near to each other only are worth the same; float32 keeps seven digits of every term.
        assert worth[here] >= max(worth) - 50 * farthest * 1e-6


def test_an_odd_one_out_comes_after_those_that_stand_for_many(rng):
    kinds = np.repeat(4.0 * np.eye(5)[:3], 30, axis=0) + rng.normal(scale=0.2, size=(90, 5))
    odd = -6.0 * np.eye(5)[3:4]  # farther from everything than the kinds are from each other
    first = which_next(np.vstack([odd, kinds]), np.zeros((0, 5)), 3)
    assert sorted((first - 1) // 30) == [0, 1, 2]


def test_what_was_asked_about_is_not_asked_about_again(rng):
    kinds = np.repeat(4.0 * np.eye(5)[:3], 30, axis=0) + rng.normal(scale=0.2, size=(90, 5))
    for known in range(3):
        first = which_next(kinds, kinds[30 * known : 30 * known + 5], 2)
        assert sorted(first // 30) == [kind for kind in range(3) if kind != known]


def test_duplicates_are_not_asked_about_twice(rng):
    vectors = np.repeat(rng.normal(size=(20, 5)), 10, axis=0)
    first = which_next(vectors, rng.normal(size=(3, 5)), 10)
    assert len(set(first // 10)) == 10


@pytest.mark.parametrize("n", [100, 2 * MOST_COMPARED + 1])
def test_the_order_of_files_does_not_matter(rng, n):
    vectors, asked, shuffled = rng.normal(size=(n, 5)), rng.normal(size=(10, 5)), rng.permutation(n)
    found = which_next(vectors, asked, 8)  # later ones may be worth the same, which a few digits decide
    assert shuffled[which_next(vectors[shuffled], asked, 8)].tolist() == found.tolist()
    assert len(set(found.tolist())) == 8


def test_of_very_many_some_stand_for_all(rng):
    kinds = 10.0 * np.eye(8)
    kind = rng.integers(8, size=50_000)
    vectors = (kinds[kind] + rng.normal(size=(50_000, 8))).astype(np.float16)
    started = time.process_time()
    found = which_next(vectors, kinds[:3], 60)
    assert time.process_time() - started < 10.0  # a second where nobody else computes; all pairs would take minutes
    assert sorted(kind[found[:5]]) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_fewer_than_asked_for_are_all_of_them(rng, count):
    for n in (0, 1, 3):
        found = which_next(rng.normal(size=(n, 2)), rng.normal(size=(2, 2)), count)
        assert len(set(found.tolist())) == min(n, count)


def test_pictures_that_are_all_the_same_still_have_an_order():
    assert sorted(which_next(np.ones((4, 2)), np.zeros((0, 2)), 9).tolist()) == [0, 1, 2, 3]
    assert len(which_next(np.ones((4, 2)), np.ones((1, 2)), 9)) == 4
