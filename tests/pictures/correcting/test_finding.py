"""Likeness and duplicates against loops, and on pictures that were saved anew."""

import io

import numpy as np
import pytest
from PIL import Image

from gramless.pictures.correcting import orders
from gramless.pictures.correcting.orders import SAME_OUTLINE, most_alike, near_duplicates, outline
from gramless.pictures.scenes import draw_scene


def unit(rng, n, d=5):
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def jpeg(pixels, size=None, quality=75, box=None) -> bytes:
    image, file = Image.fromarray(pixels), io.BytesIO()
    image = image.crop(box) if box else image
    (image.resize(size) if size else image).save(file, "JPEG", quality=quality)
    return file.getvalue()


def test_the_most_alike_have_the_highest_cosines_and_a_picture_is_first_itself(rng):
    vectors = np.vstack([unit(rng, 20), unit(np.random.default_rng(0), 20)[:1]])
    vectors[20] = vectors[3]
    for position in (3, 20):
        order, cosines = most_alike(vectors.copy(), position)
        expected = [sum(a * b for a, b in zip(row, vectors[position], strict=True)) for row in vectors]
        assert order[0] == position
        assert order[1] == 23 - position
        np.testing.assert_allclose(cosines, np.array(expected)[order], atol=1e-12)
        assert (np.diff(cosines) <= 1e-12).all()


def groups_of(vectors, least, is_same):
    """By walking from picture to picture."""
    left, groups = set(range(len(vectors))), []
    while left:
        group, border = set(), [min(left)]
        while border:
            i = border.pop()
            group.add(i)
            near = [
                j for j in left if j not in group and vectors[i] @ vectors[j] >= least and is_same(min(i, j), max(i, j))
            ]
            border += near
            group.update(near)
        left -= group
        if len(group) > 1:
            groups.append(sorted(group))
    return sorted(groups, key=lambda group: (-len(group), group[0]))


@pytest.mark.parametrize("least", [0.5, 0.8, 0.99, 1.1])
@pytest.mark.parametrize("rows", [3, 1024])
def test_duplicates_are_what_a_walk_finds(rng, monkeypatch, least, rows):
    monkeypatch.setattr(orders, "ROWS_AT_ONCE", rows)
    vectors = unit(rng, 25, 3)
    for is_same in (lambda i, j: True, lambda i, j: (i + j) % 3 > 0):
        found = [group.tolist() for group in near_duplicates(vectors, least, is_same)]
        assert found == groups_of(vectors, least, is_same)


def test_nothing_has_no_duplicates():
    assert near_duplicates(np.zeros((0, 3)), 0.9, lambda i, j: True) == []
    assert near_duplicates(np.ones((1, 3)), 0.9, lambda i, j: True) == []


def test_outlines_know_a_picture_that_was_saved_anew_and_tell_scenes_apart():
    scenes = [draw_scene(np.random.default_rng(seed))[0] for seed in range(12)]
    first = [outline(jpeg(scene)) for scene in scenes]
    height, width, _ = scenes[0].shape
    for scene, known in zip(scenes, first, strict=True):
        assert np.linalg.norm(known) == pytest.approx(1.0)
        for again in (jpeg(scene, quality=40), jpeg(scene, (width * 2 // 3, height * 2 // 3)), jpeg(scene, (900, 600))):
            assert outline(again) @ known > 0.98
    pairs = [a @ b for i, a in enumerate(first) for b in first[:i]]
    assert np.mean(np.array(pairs) < SAME_OUTLINE) >= 0.98


def test_a_picture_of_one_grey_is_like_nothing():
    assert not outline(jpeg(np.full((9, 9, 3), 77, dtype=np.uint8))).any()
    assert np.isfinite(outline(jpeg(np.zeros((1, 1, 3), dtype=np.uint8)))).all()
