"""Colour profiles: the numbers that a person would see, whatever colours a picture's own numbers mean."""

import struct

import numpy as np
import pytest
from PIL import Image, ImageCms

from gramless.pictures.features import read_picture
from gramless.pictures.features.decoding.decode import SIMPLE_PROFILE, is_simple
from tests.pictures.features.samples import encoded, photo

D50 = (0.9642, 1.0, 0.8249)
ADOBE_RGB = np.array([[0.60976, 0.20524, 0.14922], [0.31112, 0.62566, 0.06322], [0.01948, 0.06089, 0.74484]])
SRGB = np.array([[0.43607, 0.38506, 0.14308], [0.22250, 0.71688, 0.06062], [0.01393, 0.09710, 0.71417]])
"""Columns: the XYZ of the primaries, seen under D50."""
GAMMA = 2.19921875


def made_profile(space, primaries=None):
    """A profile of version 2: three primaries and a power of the numbers, or that power alone."""
    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(256 * GAMMA)) + bytes(2)
    tags = {b"wtpt": xyz(D50)}
    if primaries is None:
        tags[b"kTRC"] = curve
    else:
        tags |= {name: xyz(column) for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), primaries.T, strict=True)}
        tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve)
    return as_file(b"mntr", space, b"XYZ ", tags)


def ink_profile():
    """A table of the sixteen full inks: with cyan they are a grey of lightness 50, without it white."""
    grey, white = bytes([128, 128, 128]), bytes([255, 128, 128])  # in Lab
    same = bytes(range(256))
    matrix = struct.pack(">9i", *(65536 * np.eye(3, dtype=int)).ravel())
    table = b"mft1\0\0\0\0" + bytes([4, 3, 2, 0]) + matrix + 4 * same + 8 * white + 8 * grey + 3 * same
    return as_file(b"prtr", b"CMYK", b"Lab ", {b"wtpt": xyz(D50), b"A2B0": table})


def xyz(values):
    return b"XYZ \0\0\0\0" + b"".join(struct.pack(">i", round(65536 * v)) for v in values)


def as_file(kind, space, between, tags):
    place = 128 + 4 + 12 * len(tags)
    table, data = struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        table += struct.pack(">4sII", name, place + len(data), len(content))
        data += content
    head = struct.pack(">I4s4s4s4s4s", place + len(data), bytes(4), b"\2\x10\0\0", kind, space, between)
    head += struct.pack(">6H", 2024, 1, 1, 0, 0, 0) + b"acsp" + bytes(28) + xyz(D50)[8:]
    return head.ljust(128, b"\0") + table + data


def seen(colours, primaries):
    """8-bit sRGB of numbers of those primaries, by the formulas."""
    linear = (colours / 255) ** GAMMA @ (np.linalg.inv(SRGB) @ primaries).T
    linear = linear.clip(0, 1)
    curved = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(255 * curved)


def patches(rng):
    """(32, 48, 3): six colours in squares, none beyond what a screen shows."""
    return np.repeat(np.repeat(rng.integers(60, 200, (2, 3, 3), dtype=np.uint8), 16, axis=0), 16, axis=1)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_wide_colours_are_converted(kind, rng):
    picture = patches(rng)
    found = read_picture(encoded(picture, kind, icc_profile=made_profile(b"RGB ", ADOBE_RGB)))
    expected = seen(picture, ADOBE_RGB)
    assert np.abs(expected - picture).max() > 10
    assert np.abs(found - expected).max() <= 2  # rounding of the profile's numbers, and of the converted ones


def test_the_colours_of_a_photograph_of_twelve_megapixels_are_converted(rng):
    picture = photo(rng, 1200, 1600)
    plain, wide = (
        read_picture(encoded(picture, "JPEG", quality=95, **options)).astype(int)
        for options in ({}, {"icc_profile": made_profile(b"RGB ", ADOBE_RGB)})
    )
    inside = (plain > 20).all(2) & (plain < 180).all(2)
    assert np.abs(wide - seen(plain, ADOBE_RGB))[inside].max() <= 3
    assert wide.shape == plain.shape


def test_grey_by_its_own_curve(rng):
    grey = np.repeat(np.arange(0, 256, 8, dtype=np.uint8)[None], 32, axis=0)
    found = read_picture(encoded(grey, "PNG", icc_profile=made_profile(b"GRAY")))
    expected = seen(np.repeat(grey[..., None], 3, axis=2), SRGB)
    assert np.abs(found - expected)[:, 2:].max() <= 2


def test_ink_is_converted_by_a_profile_of_ink():
    image = Image.new("CMYK", (32, 32), (255, 0, 0, 0))
    image.paste((0, 0, 0, 0), (0, 0, 32, 16))
    picture = read_picture(encoded(image, "TIFF", icc_profile=ink_profile()))
    assert np.abs(picture[0].astype(int) - 255).max() <= 2
    assert np.abs(picture[-1].astype(int) - 119).max() <= 2  # the grey of lightness 50


def test_a_profile_of_other_colours_than_the_pictures_is_passed_over(rng):
    image = Image.new("CMYK", (32, 32), (0, 255, 255, 0))
    picture = read_picture(encoded(image, "JPEG", icc_profile=made_profile(b"GRAY")))
    assert np.abs(picture.astype(int) - (255, 0, 0)).max() < 4
    colours = photo(rng)
    np.testing.assert_array_equal(read_picture(encoded(colours, icc_profile=made_profile(b"GRAY"))), colours)


def test_with_srgb_in_words_or_none_nothing_changes(rng):
    picture = photo(rng)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for profile in (srgb, b""):
        np.testing.assert_array_equal(read_picture(encoded(picture, icc_profile=profile)), picture)


@pytest.mark.parametrize("size", [1, 100, 130, 200, 300])
def test_a_damaged_profile_is_passed_over(size, rng):
    picture, whole = photo(rng), made_profile(b"RGB ", ADOBE_RGB)
    np.testing.assert_array_equal(read_picture(encoded(picture, icc_profile=whole[:size])), picture)


def test_damaged_bytes_of_a_profile_give_a_picture_all_the_same(rng):
    picture, whole = photo(rng), np.frombuffer(made_profile(b"RGB ", ADOBE_RGB), dtype=np.uint8)
    for _ in range(100):
        damaged = whole.copy()
        damaged[rng.integers(0, len(whole), 8)] = rng.integers(0, 256, 8)
        assert read_picture(encoded(picture, icc_profile=damaged.tobytes())).shape == picture.shape


def test_a_profile_without_end_is_no_simple_picture(rng, tmp_path):
    path = tmp_path / "a.jpg"
    profile = made_profile(b"RGB ", ADOBE_RGB) + bytes(SIMPLE_PROFILE)
    path.write_bytes(encoded(photo(rng), "JPEG", icc_profile=profile))
    with path.open("rb") as file:
        assert not is_simple(file)
    assert read_picture(path).shape == (48, 64, 3)
