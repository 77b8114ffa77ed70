"""Raw files of cameras: the largest JPEG in them, upright; and TIFFs, which begin in the same way, as they are."""

import contextlib
import io
import struct

import numpy as np
import pytest
from PIL import Image

from gramless.pictures.features import PictureError, read_picture
from gramless.pictures.features.decoding.previews import largest_preview, orientation_of
from tests.pictures.features.samples import encoded, photo

SENSOR = b"\xff\xd8\xff\xc3" + struct.pack(">HBHHB", 17, 8, 4000, 6000, 3) + bytes(9) + bytes(range(256)) * 20
"""What a sensor saw, as a JPEG without loss."""


def tags(order, entries, place):
    """A TIFF's first folder of tags, of numbers, for a file in which it begins at `place`."""
    body = struct.pack(f"{order}H", len(entries))
    for tag, kind, value in sorted(entries):
        number = struct.pack(f"{order}HH", value, 0) if kind == 3 else struct.pack(f"{order}I", value)
        body += struct.pack(f"{order}HHI", tag, kind, 1) + number
    return body + bytes(4)


def raw_file(preview, *, orientation=1, order="<", magic=None, small=(16, 12), raw=True):
    """A thumbnail as the file's own picture, then what the sensor saw, a small JPEG, and the preview."""
    width, height = small
    entries = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (274, 3, orientation)]
    entries += [(277, 3, 1), (278, 4, height), (279, 4, width * height)]
    entries += [(254, 4, 1), (330, 4, 0)] if raw else []
    pixels = 8 + 2 + 12 * (len(entries) + 1) + 4
    head = magic or (b"II*\0" if order == "<" else b"MM\0*")
    content = head + struct.pack(f"{order}I", 8) + tags(order, [*entries, (273, 4, pixels)], 8) + bytes(width * height)
    return content + SENSOR + encoded(np.full((20, 30, 3), 255, np.uint8), "JPEG") + b"maker" + preview + SENSOR


@pytest.fixture
def shot(rng):
    """(600, 900, 3)"""
    return photo(rng, 600, 900)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [None, b"IIRO", b"IIU\0", b"II*\0\x10\0\0\0CR"])
def test_the_largest_preview_is_the_picture(order, magic, shot, tmp_path):
    jpeg = encoded(shot, "JPEG")
    path = tmp_path / "a.nef"
    path.write_bytes(raw_file(jpeg, order=order if magic is None else "<", magic=magic and magic[:4]))
    np.testing.assert_array_equal(read_picture(path), read_picture(jpeg))
    np.testing.assert_array_equal(read_picture(path.read_bytes()), read_picture(jpeg))


@pytest.mark.parametrize(("orientation", "turns"), [(1, 0), (3, 2), (6, 3), (8, 1)])
def test_it_is_turned_as_the_raw_file_says_where_it_does_not_say_so_itself(orientation, turns, shot):
    jpeg = encoded(shot, "JPEG")
    expected = np.rot90(read_picture(jpeg), turns)
    np.testing.assert_array_equal(read_picture(raw_file(jpeg, orientation=orientation)), expected)
    exif = Image.Exif()
    exif[0x0112] = orientation
    by_itself = encoded(shot, "JPEG", exif=exif)
    for raw in (raw_file(by_itself, orientation=5), b"FUJIFILMCCD-RAW 0201" + bytes(80) + by_itself):
        np.testing.assert_array_equal(read_picture(raw), expected)


@pytest.mark.parametrize("orientation", [1, 6])
def test_a_cr3_has_its_tags_in_a_box(orientation, shot):
    jpeg = encoded(shot, "JPEG")
    box = b"II*\0" + struct.pack("<I", 8) + tags("<", [(274, 3, orientation)], 8)
    raw = b"\0\0\0\x18ftypcrx \0\0\0\1crx isom" + b"\0\0\0\x40CMT1" + box + b"PRVW" + jpeg + SENSOR
    np.testing.assert_array_equal(read_picture(raw), np.rot90(read_picture(jpeg), 3 if orientation == 6 else 0))


def test_a_tiff_is_itself_whatever_lies_in_it(shot):
    small = shot[:96, :128]
    alone = encoded(small, "TIFF")
    np.testing.assert_array_equal(read_picture(alone + encoded(shot, "JPEG")), small)
    packed = encoded(small, "TIFF", compression="jpeg")
    np.testing.assert_array_equal(read_picture(packed), np.array(Image.open(io.BytesIO(packed)).convert("RGB")))
    own = raw_file(encoded(shot, "JPEG"), small=(64, 48), raw=False)
    assert read_picture(own).shape == (48, 64, 3)


def test_a_raw_file_without_a_preview_is_its_thumbnail_or_nothing():
    assert read_picture(raw_file(b"")).shape[:2] == (20, 30)  # the small JPEG
    for head in (b"FUJIFILMCCD-RAW", b"IIRO", b"II*\0", b"\0\0\0\x18ftypcrx "):
        with pytest.raises(PictureError, match=r"is no picture of a kind|is damaged|is cut off"):
            read_picture(head + SENSOR)


@pytest.mark.parametrize("share", [0.001, 0.5, 0.9])
def test_a_cut_off_preview(share, shot):
    jpeg = encoded(shot, "JPEG")
    whole = raw_file(b"")[: -len(SENSOR)] + jpeg
    cut = whole[: len(whole) - len(jpeg) + int(share * len(jpeg))]
    if share < 0.01:  # not even its size is there
        assert read_picture(cut).shape[:2] == (20, 30)
    else:
        with pytest.raises(PictureError, match="is cut off"):
            read_picture(cut)


def test_hostile_content_ends_soon():
    assert largest_preview(b"") is None
    assert largest_preview(b"\xff\xd8\xff" * 300_000) is None
    assert largest_preview(b"\xff\xd8\xff\xe0\0\0" * 100_000) is None  # segments of no length
    assert largest_preview(b"\xff\xd8\xff\xc0" + struct.pack(">HBHH", 17, 12, 4000, 6000)) is None  # of 12 bits
    for content in (b"", b"II", b"II*\0\xff\xff\xff\xff", b"MM\0*\0\0\0\x08\xff\xff", b"\0\0\0\x18ftypcrx "):
        assert orientation_of(content) == 1


def test_damaged_raw_files_are_read_or_refused_and_nothing_else(shot, rng):
    whole = np.frombuffer(raw_file(encoded(shot, "JPEG", quality=40)), dtype=np.uint8)
    for _ in range(30):
        damaged = whole.copy()
        damaged[rng.integers(0, 400, 5)] = rng.integers(0, 256, 5)
        with contextlib.suppress(PictureError):
            assert read_picture(damaged.tobytes()).dtype == np.uint8
