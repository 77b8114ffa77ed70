"""Small JPEGs of pictures, and JPEGs as addresses of themselves."""

import io
from urllib.request import urlopen

import numpy as np
import pytest
from PIL import Image

from gramless.pictures.features import PictureError, make_thumbnail
from gramless.pictures.features.pictures import data_uri
from tests.pictures.features.samples import encoded, photo


def test_a_thumbnail_is_a_small_jpeg_of_the_picture(rng):
    content = encoded(photo(rng, 120, 240), "PNG")
    with Image.open(io.BytesIO(make_thumbnail(content, 60))) as small:
        assert (small.format, small.size) == ("JPEG", (60, 30))
        expected = Image.open(io.BytesIO(content)).convert("RGB").resize((60, 30), Image.Resampling.BOX)
        assert np.abs(np.asarray(small, dtype=float) - np.asarray(expected, dtype=float)).mean() < 12


def test_what_is_no_picture_has_no_thumbnail():
    with pytest.raises(PictureError):
        make_thumbnail(b"no picture", 60)


@pytest.mark.parametrize("jpeg", [b"", b"\xff\xd8\xff\xe0 +/=", bytes(range(256))])
def test_a_data_uri_leads_to_what_it_was_made_of(jpeg):
    with urlopen(data_uri(jpeg)) as answer:
        assert answer.headers["Content-Type"] == "image/jpeg"
        assert answer.read() == jpeg
