"""Gist against the filters of LMgist.m, one by one in float64."""

import numpy as np
import pytest

from gramless.pictures.features.gist import gist
from tests.pictures.features import oracles
from tests.pictures.features.samples import photo


def test_numbers_are_those_of_the_authors_recipe(rng):
    picture = photo(rng, 128, 128)
    row = gist(picture)
    assert row.shape == (512,)
    assert row.dtype == np.float32
    np.testing.assert_allclose(row, oracles.gist(picture.mean(2)), rtol=1e-3, atol=1e-5)


def test_stripes_answer_to_the_filters_across_them():
    x = np.arange(128)
    stripes = np.broadcast_to(np.where(x % 8 < 4, 40, 220).astype(np.uint8)[None, :, None], (128, 128, 3))
    upright, lying = (gist(p).reshape(4, 8, 16).sum(axis=(0, 2)) for p in (stripes, stripes.transpose(1, 0, 2)))
    assert upright.argmax() == 0
    assert lying.argmax() == 4


@pytest.mark.parametrize("level", [0, 255])
def test_plain_pictures_have_no_gist(level):
    np.testing.assert_allclose(gist(np.full((16, 300, 3), level, dtype=np.uint8)), 0, atol=1e-6)
