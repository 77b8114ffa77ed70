"""Colour histograms against pixel-by-pixel counts with other conversions."""

import numpy as np
import pytest

from gramless.pictures.features.histograms import colour_histograms
from tests.pictures.features import oracles

ORACLES = {"Rgb": oracles.rgb, "Hsv": oracles.hsv, "Lab": oracles.lab}


def between_borders(rng, space, height, width):
    """Random pixels whose bins do not hang on rounding, in layouts of 12 and of 16 bins."""
    colours = rng.integers(0, 256, (4 * height * width, 3), dtype=np.uint8)
    units = np.array([space(*colour) for colour in colours.astype(int)])
    margins = [np.abs(units * bins - np.rint(units * bins)) for bins in (12, 16)]
    safe = (np.minimum(*margins) > 0.005).all(1)
    return colours[safe][: height * width].reshape(height, width, 3)


@pytest.mark.parametrize("space", ORACLES)
def test_histograms_count_pixels(space, rng):
    picture = between_borders(rng, ORACLES[space], 32, 40)
    whole, banded = colour_histograms(picture, space).values()
    bands = [picture[:11], picture[11:22], picture[22:]]
    expected = np.concatenate([len(band) / 32 * oracles.histogram(band, ORACLES[space], 12) for band in bands])
    np.testing.assert_allclose(whole, oracles.histogram(picture, ORACLES[space], 16), atol=1e-6)
    np.testing.assert_allclose(banded, expected, atol=1e-6)
    assert whole.dtype == banded.dtype == np.float32


@pytest.mark.parametrize("space", ORACLES)
@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)])
def test_plain_pictures_fill_one_bin(space, colour):
    picture = np.full((16, 16, 3), colour, dtype=np.uint8)
    whole, banded = colour_histograms(picture, space).values()
    assert np.count_nonzero(whole) == 1
    assert whole.max() == 1
    assert np.count_nonzero(banded) == 3


def test_the_first_bin_changes_fastest():
    picture = np.full((16, 16, 3), (255, 40, 0), dtype=np.uint8)
    assert colour_histograms(picture, "Rgb")["Rgb"].argmax() == 15 + 16 * 2
