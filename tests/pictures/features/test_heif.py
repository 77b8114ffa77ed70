"""HEIC, the pictures of telephones: read where the package is there, explained where it is not."""

import base64
import contextlib
import sys

import numpy as np
import pytest

from gramless.pictures.features import PictureError, read_picture
from gramless.pictures.features.decoder import Decoder
from gramless.pictures.features.decoding import UndecodableError

UPRIGHT = base64.b64decode(
    b"AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAb5tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAA"
    b"ADRpbG9jAAAAAERAAAIAAQAAAAAB4gABAAAAAAAAAKkAAgAAAAACiwABAAAAAAAAACQAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAA"
    b"AAABAABodmMxAAAAABVpbmZlAgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAAA/WlwcnAAAADdaXBjbwAAAHZodmNDAQNwAAAA"
    b"kAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq"
    b"5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xh"
    b"cAAAAEAAAAABAAAAMAAAAAEAAAAAAAAAAv////AAAAACAAAAEHBpeGkAAAAAAwgICAAAABhpcG1hAAAAAAAAAAEAAQWBAgMFhAAA"
    b"ABppcmVmAAAAAAAAAA5jZHNjAAIAAQABAAAA1W1kYXQAAAClKAGvE4DlMff/w40/6Z9P9dyZk6gxC/8z4+8Oqv8JcsQbjp4n5SE/"
    b"320/152IKNCZ5/+bO3dzCOCiT1EFDedL2s+IqfDmwfeT87E2gfd2ehbb3A/8XugAJr4tOzWE4wKUHHOvA4MAKhZNPxADtj6VxL6N"
    b"UX4YL9+21hcMoG+GWgAXR/jXlgCcYFA6Nga7T8XGw3FwQHP8y3oa1paRqDkA5b8+VX9UAAAABkV4aWYAAE1NACoAAAAIAAEBEgAD"
    b"AAAAAQABAAAAAAAA"
)
"""64 x 48 pixels: red and green above, blue and white below."""
TURNED = base64.b64decode(
    b"AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAchtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAA"
    b"ADRpbG9jAAAAAERAAAIAAQAAAAAB7AABAAAAAAAAAEYAAgAAAAACMgABAAAAAAAAACQAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAA"
    b"AAABAABodmMxAAAAABVpbmZlAgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAABB2lwcnAAAADmaXBjbwAAAHZodmNDAQNwAAAA"
    b"kAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq"
    b"5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xh"
    b"cAAAADAAAAABAAAAQAAAAAH////wAAAAAgAAAAAAAAACAAAAEHBpeGkAAAAAAwgICAAAAAlpcm90AwAAABlpcG1hAAAAAAAAAAEA"
    b"AQaBAgMFhIYAAAAaaXJlZgAAAAAAAAAOY2RzYwACAAEAAQAAAHJtZGF0AAAAQigBrxOA5TH2z3Mk/9OLD/OWSwSsvpKT7hHcufZ7"
    b"+EsPrKGE7f+xYTGU4L9eT/Bgfv7aTjmPddfLEDkj9lnEoT6TZAAAAAZFeGlmAABNTQAqAAAACAABARIAAwAAAAEABgAAAAAAAA=="
)
"""The same as a telephone stores it that is held upright: on its side, with a note (irot, and EXIF) how to turn it."""


@pytest.mark.parametrize("content", [UPRIGHT, TURNED], ids=["upright", "turned"])
def test_a_picture_stands_upright(content, tmp_path):
    path = tmp_path / "IMG_0001.HEIC"
    path.write_bytes(content)
    picture = read_picture(path)
    assert picture.shape == (48, 64, 3)
    corners = picture[[5, 5, -5, -5], [5, -5, 5, -5]].astype(int)
    expected = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]
    assert np.abs(corners - expected).max() < 8  # what the encoder loses
    np.testing.assert_array_equal(read_picture(content), picture)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.98])
def test_a_cut_off_one_is_refused(share):
    with pytest.raises(PictureError) as caught:
        read_picture(UPRIGHT[: int(share * len(UPRIGHT))])
    assert caught.value.reason.startswith(("is cut off", "is damaged", "is no picture"))


def test_damaged_bytes_are_read_or_refused_and_nothing_else(rng):
    whole = np.frombuffer(UPRIGHT, dtype=np.uint8)
    for _ in range(30):
        damaged = whole.copy()
        damaged[rng.integers(0, len(whole), 5)] = rng.integers(0, 256, 5)
        with contextlib.suppress(PictureError):
            assert read_picture(damaged.tobytes()).dtype == np.uint8


def test_without_the_package_it_is_said_what_to_install(monkeypatch, tmp_path):
    (tmp_path / "pi_heif.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    decoder = Decoder()
    try:
        with pytest.raises(UndecodableError, match="needs a package: pip install pi-heif"):
            decoder.decode(UPRIGHT, 384)
    finally:
        decoder.close()
    assert "pi_heif" not in sys.modules, "it is for the process that decodes"
