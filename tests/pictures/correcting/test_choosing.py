"""Which next, against the definition spelled out."""

import math

import numpy as np
import pytest

from gramless.pictures.correcting.orders import LEAST_POOL, uncertainty, which_next


def unit(rng, n, d=5):
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def bits(row):
    return sum(-q * math.log2(q) for p in row for q in (float(p), 1.0 - float(p)) if q > 0)


def test_uncertainty_is_the_entropy_of_every_keyword(rng):
    p = rng.random((20, 4))
    p[0], p[1], p[2] = 0.5, 0.0, 1.0
    np.testing.assert_allclose(uncertainty(p), [bits(row) for row in p], rtol=1e-12)
    assert uncertainty(p)[:3].tolist() == [4.0, 0.0, 0.0]
    assert uncertainty(np.array([[np.nan, 0.5]])).tolist() == [1.0]


@pytest.mark.parametrize("n_asked", [0, 1, 30])
def test_the_next_is_the_one_with_the_largest_product(rng, n_asked):
    p, vectors, asked = rng.random((80, 3)), unit(rng, 80), unit(rng, n_asked)
    found = which_next(p, vectors, asked, 10).tolist()
    taken = []
    for _ in range(10):
        best, most = -1, -1.0
        for i in range(80):
            near = [*asked, *(vectors[j] for j in taken)]
            distance = min([2.0, *(max(0.0, 1.0 - float(vectors[i] @ other)) for other in near)])
            if i not in taken and bits(p[i]) * distance > most:
                best, most = i, bits(p[i]) * distance
        taken.append(best)
    assert found == taken


def test_of_very_many_only_the_most_uncertain_are_compared(rng):
    p = np.zeros((3 * LEAST_POOL, 1))
    p[:LEAST_POOL] = 0.5
    found = which_next(p, unit(rng, len(p)), unit(rng, 0), 20)
    assert found.max() < LEAST_POOL


def test_duplicates_are_not_asked_about_twice(rng):
    p, vectors = np.full((30, 2), 0.5), np.repeat(unit(rng, 3), 10, axis=0)
    first = which_next(p, vectors, unit(rng, 0), 3)
    assert sorted(first // 10) == [0, 1, 2]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_fewer_than_asked_for_are_all_of_them(rng, count):
    for n in (0, 1, 3):
        found = which_next(rng.random((n, 2)), unit(rng, n), unit(rng, 2), count)
        assert len(set(found.tolist())) == min(n, count)


def test_certain_pictures_and_no_keywords_still_have_an_order(rng):
    assert sorted(which_next(np.zeros((4, 2)), unit(rng, 4), unit(rng, 0), 9).tolist()) == [0, 1, 2, 3]
    assert len(which_next(np.zeros((4, 0)), unit(rng, 4), unit(rng, 0), 9)) == 4
