"""Reading pictures: every kind that people have, and everything that is none."""

import contextlib
import os
import pickle
import socket
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gramless.errors import DataError
from gramless.pictures.features.decoding import SHORTEST_SIDE
from gramless.pictures.features.pictures import LONGEST_SIDE, PictureError, content_hash, read_picture
from tests.pictures.features.samples import encoded, photo


def reason(source):
    with pytest.raises(PictureError) as caught:
        read_picture(source)
    return caught.value.reason


def png_that_claims(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM", "TIFF"])
def test_pixels_come_as_they_are(kind, rng):
    picture = photo(rng)
    np.testing.assert_array_equal(read_picture(encoded(picture, kind)), picture)


def test_a_file_and_its_bytes_are_the_same_picture(tmp_path, rng):
    path = tmp_path / "Ärger im Café 写真.png"
    path.write_bytes(encoded(photo(rng)))
    np.testing.assert_array_equal(read_picture(path), read_picture(path.read_bytes()))
    assert content_hash(path) == content_hash(path.read_bytes())


@pytest.mark.parametrize(("width", "height"), [(192, 128), (LONGEST_SIDE, 100), (100, LONGEST_SIDE)])
def test_small_enough_pictures_keep_their_size(width, height, rng):
    assert read_picture(encoded(photo(rng, height, width))).shape == (height, width, 3)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_a_large_picture_shrinks_and_keeps_its_shape_and_look(kind, rng):
    picture = photo(rng, 1200, 3000)
    small = read_picture(encoded(picture, kind))
    assert small.shape == (round(LONGEST_SIDE * 0.4), LONGEST_SIDE, 3)
    expected = np.array(Image.fromarray(picture).resize((LONGEST_SIDE, len(small)), Image.Resampling.BOX))
    assert np.abs(small.astype(int) - expected).mean() < 4


@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (1, 2000), (15, 16)])
def test_thin_pictures_are_stretched(shape, rng):
    picture = read_picture(encoded(rng.integers(0, 256, (*shape, 3), dtype=np.uint8)))
    assert min(picture.shape[:2]) >= SHORTEST_SIDE
    assert max(picture.shape[:2]) <= LONGEST_SIDE


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_rotated_photographs_stand_upright(kind, orientation):
    upright = np.zeros((32, 48, 3), dtype=np.uint8)
    upright[:16, :24] = (255, 0, 0)  # red at the top left
    upright[16:, :24] = (0, 0, 255)  # blue below
    turns = {  # how a camera that is held so stores the picture
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = encoded(np.ascontiguousarray(turns[orientation]), kind, exif=exif)
    picture = read_picture(stored)
    assert picture.shape == upright.shape
    assert np.abs(picture.astype(int) - upright).mean() < 6


def test_cmyk_photographs():
    image = Image.new("CMYK", (32, 32), (0, 255, 255, 0))
    picture = read_picture(encoded(image, "JPEG"))
    assert np.abs(picture.astype(int) - (255, 0, 0)).max() < 4


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
@pytest.mark.parametrize("brightest", [65_535, 20_000])
def test_sixteen_bits_of_grey_become_eight(kind, brightest):
    values = np.linspace(0, brightest, 32 * 32).reshape(32, 32).astype(np.uint16)
    picture = read_picture(encoded(values, kind))
    expected = np.round(values / 257).astype(int)
    assert np.abs(picture.astype(int) - expected[..., None]).max() <= 1


def test_fractions_of_light_are_scaled_to_the_brightest():
    values = np.linspace(0, 1, 32 * 32, dtype=np.float32).reshape(32, 32)
    values[0, 0] = np.nan
    picture = read_picture(encoded(values, "TIFF"))
    assert picture[-1, -1].tolist() == [255, 255, 255]
    assert picture[0, 0].tolist() == [0, 0, 0]
    assert abs(picture.mean() - 127) < 2


def test_transparency_lies_on_white():
    layer = np.zeros((32, 32, 4), dtype=np.uint8)
    layer[:16] = (0, 0, 255, 255)
    layer[16:24] = (0, 0, 0, 128)
    picture = read_picture(encoded(layer))
    assert picture[0, 0].tolist() == [0, 0, 255]
    assert abs(int(picture[20, 0, 0]) - 127) <= 1
    assert picture[31, 0].tolist() == [255, 255, 255]


def test_a_palette_with_a_transparent_colour():
    image = Image.new("P", (32, 32), 0)
    image.putpalette([255, 0, 0, 0, 255, 0])
    image.paste(1, (0, 0, 16, 32))
    picture = read_picture(encoded(image, "PNG", transparency=0))
    assert picture[0, 0].tolist() == [0, 255, 0]
    assert picture[0, 31].tolist() == [255, 255, 255]


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA"])
def test_grey_and_indexed_pictures(mode, rng):
    image = Image.fromarray(photo(rng)).convert(mode)
    expected = np.asarray(image.convert("RGB"))
    np.testing.assert_array_equal(read_picture(encoded(image)), expected)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF"])
def test_of_an_animation_the_first_frame(kind):
    frames = [Image.new("RGB", (32, 32), colour) for colour in ("red", "lime", "blue")]
    picture = read_picture(encoded(frames[0], kind, save_all=True, append_images=frames[1:]))
    assert np.abs(picture.astype(int) - (255, 0, 0)).max() < 4


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_truncated_files_have_a_short_reason(kind, share, rng):
    whole = encoded(photo(rng, 96, 128), kind)
    told = reason(whole[: int(share * len(whole))])
    assert told.startswith(("is cut off", "is damaged", "is no picture"))


def test_a_cut_off_photograph_is_called_so(rng):
    whole = encoded(photo(rng, 96, 128), "JPEG")
    assert reason(whole[: len(whole) // 2]) == "is cut off"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_damaged_bytes_are_read_or_refused_and_nothing_else(kind, rng, recwarn):
    whole = np.frombuffer(encoded(photo(rng), kind), dtype=np.uint8)
    for _ in range(30):
        damaged = whole.copy()
        damaged[rng.integers(0, len(whole), 5)] = rng.integers(0, 256, 5)
        with contextlib.suppress(PictureError):
            assert read_picture(damaged.tobytes()).dtype == np.uint8
    assert not recwarn.list


@pytest.mark.parametrize(
    "content", [b"just a few words", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"\0"]
)
def test_what_is_no_picture(content, tmp_path):
    path = tmp_path / "holiday.jpg"
    path.write_bytes(content)
    assert reason(path) == "is no picture of a kind that can be read"


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    assert reason(tmp_path) == "is a folder"
    assert reason(tmp_path / "none.jpg") == "is not there"
    assert reason(Path("a\0b.jpg")).startswith("cannot be opened")
    assert reason(b"") == "is empty"
    (tmp_path / "empty.png").touch()
    assert reason(tmp_path / "empty.png") == "is empty"


def test_what_is_no_ordinary_file(tmp_path):
    os.mkfifo(tmp_path / "fifo.png")
    assert reason(tmp_path / "fifo.png") == "is a fifo, not an ordinary file"
    (tmp_path / "endless.png").symlink_to("/dev/zero")
    assert reason(tmp_path / "endless.png") == "is a device, not an ordinary file"
    with pytest.raises(PictureError, match="is a device"):
        content_hash(tmp_path / "endless.png")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.png"))
        assert reason(tmp_path / "s.png") == "is a socket, not an ordinary file"
    with open(tmp_path / "sparse.png", "wb") as file:
        file.truncate(10**12)
    assert reason(tmp_path / "sparse.png") == "is larger than 1,000 MB"


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch, rng):
    path = tmp_path / "private.png"
    path.write_bytes(encoded(photo(rng)))
    if os.geteuid() == 0:  # root may read everything
        monkeypatch.setattr(os, "open", lambda *_args, **_options: (_ for _ in ()).throw(PermissionError(13, "denied")))
    else:
        path.chmod(0)
    assert reason(path) == "may not be read"
    with pytest.raises(PictureError, match=r"private\.png may not be read"):
        content_hash(path)


def test_a_bomb_is_refused_before_it_is_unpacked():
    assert reason(png_that_claims(60_000, 60_000)).startswith("has more than 178,956,970 pixels")


def test_the_error_is_one_of_bad_data_and_survives_a_worker_process():
    error = PictureError("is empty", "beach.jpg")
    assert isinstance(error, DataError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.reason, str(again)) == ("is empty", str(error))
    assert str(error).startswith("beach.jpg is empty. ")


def test_a_changed_picture_has_another_hash(rng):
    whole = encoded(photo(rng))
    assert content_hash(whole) != content_hash(whole + b"\0")
