"""The album: nearest pictures against a loop in float64."""

import numpy as np
import pytest

from gramless.pictures.annotation import Album

KEYWORDS = ("boat", "sea", "sky")


def album(rng, n=50, width=30):
    phi = rng.normal(size=(n, width)) + 1.0
    labels = rng.random((n, 3)) < 0.4
    thumbnails = [bytes(rng.integers(0, 256, rng.integers(1, 20), dtype=np.uint8)) for _ in range(n)]
    names = [f"{i}.jpg" for i in range(n)]
    return Album.of(names, labels, phi, thumbnails), phi, labels, thumbnails


def cosine(a, b):
    inner = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    return inner / (sum(float(x) ** 2 for x in a) * sum(float(y) ** 2 for y in b)) ** 0.5


@pytest.mark.parametrize("n_neighbours", [1, 6, 50])
def test_the_nearest_are_those_with_the_highest_cosines(rng, n_neighbours):
    pictures, phi, labels, thumbnails = album(rng)
    asked = rng.normal(size=30) + 1.0
    cosines = [cosine(row, asked) for row in phi]
    found = pictures.nearest(asked.astype(np.float32), n_neighbours, KEYWORDS)
    assert len(found) == n_neighbours
    assert len({neighbour.name for neighbour in found}) == n_neighbours
    for neighbour, best in zip(found, sorted(cosines, reverse=True), strict=False):
        i = int(neighbour.name.removesuffix(".jpg"))
        assert cosines[i] == pytest.approx(best, abs=2e-3)  # half precision may swap two that are as near
        assert neighbour.similarity == pytest.approx(max(cosines[i], 0.0), abs=2e-3)
        assert neighbour.keywords == tuple(word for word, has in zip(KEYWORDS, labels[i], strict=True) if has)
        assert neighbour.thumbnail == thumbnails[i]
    similarities = [neighbour.similarity for neighbour in found]
    assert similarities == sorted(similarities, reverse=True)


def test_a_picture_is_nearest_to_itself_whatever_its_length(rng):
    pictures, phi, _, _ = album(rng)
    for i in (0, 17, 49):
        (nearest,) = pictures.nearest(1000.0 * phi[i], 1, KEYWORDS)
        assert nearest.name == f"{i}.jpg"
        assert nearest.similarity == pytest.approx(1.0, abs=2e-3)


def test_more_neighbours_than_pictures_are_all_of_them_and_opposites_have_no_similarity(rng):
    pictures, phi, _, _ = album(rng, n=4)
    found = pictures.nearest(-phi[0], 9, KEYWORDS)
    assert {neighbour.name for neighbour in found} == {"0.jpg", "1.jpg", "2.jpg", "3.jpg"}
    assert all(0.0 <= neighbour.similarity <= 1.0 for neighbour in found)
    assert found[-1].similarity == 0.0


def test_a_vector_of_zeros_is_like_nothing(rng):
    pictures, phi, _, _ = album(rng, n=4)
    assert [neighbour.similarity for neighbour in pictures.nearest(np.zeros(30), 3, KEYWORDS)] == [0.0] * 3
    phi[2] = 0.0
    empty = Album.of(pictures.names, np.zeros((4, 3), dtype=bool), phi, [b""] * 4)
    assert np.isfinite(empty.vectors).all()
    assert len(empty) == 4
    assert empty.nearest(phi[1], 4, KEYWORDS)[0].name == "1.jpg"
    assert empty.nearest(phi[1], 1, KEYWORDS)[0].thumbnail == b""


def test_is_small(rng):
    pictures, phi, labels, thumbnails = album(rng)
    assert pictures.vectors.nbytes == 2 * phi.size
    assert pictures.labels.nbytes == labels.size
    assert pictures.jpegs.nbytes == sum(map(len, thumbnails))
