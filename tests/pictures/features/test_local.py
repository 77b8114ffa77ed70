"""Local descriptors: points, hue against a loop over pixels, and what each view shares with the others."""

import numpy as np
import pytest

from gramless.pictures.features.local import (
    LOCAL_VIEWS,
    dense_points,
    harris_points,
    local_descriptors,
    robust_hue,
    sift,
)
from gramless.pictures.features.names import DESCRIPTOR_WIDTHS
from tests.pictures.features import oracles
from tests.pictures.features.samples import photo


def test_the_dense_grid_stays_one_cell_inside():
    points = dense_points(np.zeros((17, 26, 3), dtype=np.uint8))
    assert sorted(set(points[:, 0])) == [4, 8, 12, 16, 20]
    assert sorted(set(points[:, 1])) == [4, 8, 12]
    assert len(points) == 15


def test_harris_finds_the_corners_of_a_rectangle():
    picture = np.zeros((60, 80, 3), dtype=np.uint8)
    picture[20:40, 30:60] = 255
    points = harris_points(picture)
    for corner in [(30, 20), (59, 20), (30, 39), (59, 39)]:
        assert np.linalg.norm(points - corner, axis=1).min() < 3


def test_hue_is_a_vote_of_all_pixels_in_the_window(rng):
    picture = photo(rng, 40, 50)
    points = np.array([[25, 20], [9, 12], [0, 0], [49, 39], [48, 3]], dtype=np.float32)
    expected = [oracles.hue_histogram(picture, int(x), int(y)) for x, y in points]
    np.testing.assert_allclose(robust_hue(picture, points), expected, atol=2e-4)


def test_hue_does_not_change_with_brightness_and_grey_has_none(rng):
    picture = photo(rng, 40, 50) // 2
    points = dense_points(picture)
    np.testing.assert_allclose(robust_hue(picture, points), robust_hue(2 * picture, points), atol=0.1)
    assert np.abs(robust_hue(np.full((40, 50, 3), 90, dtype=np.uint8), points)).max() < 1e-3


def test_sift_is_upright_and_has_cells_of_four_pixels():
    """An edge that runs through the middle of the first column of cells is in no other, as a gradient to the right."""
    picture = np.zeros((64, 64, 3), dtype=np.uint8)
    picture[:, 26:] = 255  # cells are 8 to 4, 4 to 0, ... pixels left of the point
    (descriptor,) = sift(picture, np.array([[32, 32]], dtype=np.float32))
    by_cell = descriptor.reshape(4, 4, 8)  # rows, columns, directions
    assert by_cell[:, 0].sum() > 0.65 * by_cell.sum()  # more than that, but for the limit on large values
    assert by_cell[..., 0].sum() > 0.9 * by_cell.sum()


def test_there_are_three_scales(rng):
    found = local_descriptors(photo(rng, 90, 135), ["DenseHue"])["DenseHue"]
    sides = [(90, 135), (60, 90), (40, 60)]
    assert len(found.bands) == sum(((height - 8) // 4 + 1) * ((width - 8) // 4 + 1) for height, width in sides)


def test_views_together_are_the_views_alone(rng):
    picture = photo(rng, 64, 96)
    together = local_descriptors(picture, LOCAL_VIEWS)
    for view in LOCAL_VIEWS:
        (alone,) = local_descriptors(picture, [view]).values()
        np.testing.assert_array_equal(alone.descriptors, together[view].descriptors)
        np.testing.assert_array_equal(alone.bands, together[view].bands)
        assert together[view].descriptors.shape == (len(alone.bands), DESCRIPTOR_WIDTHS[view])


def test_bands_are_thirds_of_the_height(rng):
    _, bands = local_descriptors(photo(rng, 96, 64), ["DenseSift"])["DenseSift"]
    first_scale = bands[: 15 * 23].reshape(23, 15)  # centres at 4, 8, ..., 92
    expected = [int((4 + 4 * i + 0.5) * 3 / 96) for i in range(23)]
    np.testing.assert_array_equal(first_scale, np.repeat(expected, 15).reshape(23, 15))
    assert set(bands) == {0, 1, 2}


@pytest.mark.parametrize("shape", [(16, 16), (16, 384), (384, 16)])
def test_plain_and_thin_pictures_have_dense_points_and_no_corners(shape):
    found = local_descriptors(np.full((*shape, 3), 255, dtype=np.uint8), LOCAL_VIEWS)
    for view, (descriptors, bands) in found.items():
        assert (len(bands) > 0) == view.startswith("Dense")
        assert np.isfinite(descriptors).all()


def test_no_view_is_no_work(rng):
    assert local_descriptors(photo(rng), []) == {}
