"""Limits of one picture: whatever its format, it ends in bounded memory and time, and the next one is read."""

import io
import os
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from gramless.pictures.features import decoder as decoder_module
from gramless.pictures.features import read_picture
from gramless.pictures.features.decoder import Decoder, the_decoder
from gramless.pictures.features.decoding import SIMPLE_PIXELS, UndecodableError, decode, is_simple
from gramless.pictures.features.pictures import PictureError
from tests.pictures.features.samples import encoded, photo

SIDE = 6000
assert SIDE**2 > SIMPLE_PIXELS
MEGABYTE = 2**20
on_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is limited on Linux only")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def blank_png(side, depth, colour, bytes_per_pixel, extra=b""):
    """A black square, a few kilobytes whatever its size."""
    pixels = zlib.compress(bytes(side * (1 + side * bytes_per_pixel)), 1)
    head = struct.pack(">IIBBBBB", side, side, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def greedy_tags(n):
    """n tags, each of which claims all of them as its value: EXIF data, or a TIFF without pixels."""
    tags = b"".join(struct.pack("<HHII", 0x200 + i, 7, 12 * n, 8) for i in range(n))
    return b"II*\0" + struct.pack("<IH", 8, n) + tags + bytes(4)


def with_greedy_tags(n):
    """A tiny PNG with such EXIF data."""
    return blank_png(32, 8, 2, 3, chunk(b"eXIf", greedy_tags(n)))


def with_many_scans(n):
    """A progressive JPEG whose last scan is begun again and again: every one is a pass over all pixels."""
    whole = encoded(Image.new("RGB", (2000, 2000)), "JPEG", progressive=True)
    last = whole[whole.rindex(b"\xff\xda") : -2]
    return whole[:-2] + last[:40] * n + whole[-2:]


def with_two_exif_segments(jpeg):
    """Each is short; Pillow takes them for one."""
    tags = b"Exif\0\0" + greedy_tags(10)
    return jpeg[:2] + 2 * (b"\xff\xe1" + struct.pack(">H", 2 + len(tags)) + tags) + jpeg[2:]


@pytest.fixture
def decoder():
    """A worker of our own, with the limits that are set at its first picture."""
    started = Decoder()
    yield started
    started.close()


def most_memory(decoder) -> int:
    status = Path(f"/proc/{decoder.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


@on_linux
@pytest.mark.parametrize(("depth", "colour", "bytes_per_pixel"), [(16, 0, 2), (16, 4, 4), (8, 6, 4)])
def test_beside_the_decoded_pixels_little_is_in_memory(depth, colour, bytes_per_pixel, decoder):
    """Pillow holds at most 4 bytes of a pixel; a strip of 2 million pixels is turned into numbers of 4 bytes."""
    assert decoder.decode(blank_png(SIDE, depth, colour, bytes_per_pixel), 384).shape == (384, 384, 3)
    assert most_memory(decoder) < 4 * SIDE**2 + 10 * 4 * 2**21 + 100 * MEGABYTE


@on_linux
def test_a_jpeg_2000_is_decoded_at_a_fraction_of_its_size(decoder, rng):
    picture = photo(rng, 2048, 2048)
    small = decoder.decode(encoded(picture, "JPEG2000"), 384)
    expected = np.array(Image.fromarray(picture).resize((384, 384), Image.Resampling.BOX))
    assert np.abs(small.astype(int) - expected).mean() < 4
    decoder.decode(encoded(Image.new("L", (SIDE, SIDE)), "JPEG2000"), 384)
    assert most_memory(decoder) < 4 * SIDE**2  # of a decoder that holds all pixels as integers


def test_a_jpeg_is_decoded_at_a_fraction_of_its_size(monkeypatch):
    sizes, load = [], ImageFile.ImageFile.load
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda image: sizes.append(image.size) or load(image))
    decode(io.BytesIO(encoded(Image.new("RGB", (3200, 2400)), "JPEG")), 384)
    assert set(sizes) == {(800, 600)}  # at least twice what is needed


def test_a_jpeg_2000_that_has_only_one_size(decoder, rng):
    picture = photo(rng, 1700, 1700)
    small = decoder.decode(encoded(picture, "JPEG2000", num_resolutions=1), 384)
    expected = np.array(Image.fromarray(picture).resize((384, 384), Image.Resampling.BOX))
    assert np.abs(small.astype(int) - expected).mean() < 4


@on_linux
@pytest.mark.parametrize(
    "content",
    [blank_png(SIDE, 8, 2, 3), encoded(Image.new("RGB", (5000, 5100)), "WEBP", method=0), with_greedy_tags(20_000)],
    ids=["pixels", "webp", "tags"],
)
def test_more_memory_than_there_is_refused(content, decoder, monkeypatch, rng):
    monkeypatch.setattr(decoder_module, "MEMORY", 64 * MEGABYTE)
    with pytest.raises(UndecodableError, match=r"needs more than 0\.0625 GB of memory|decoder"):
        decoder.decode(content, 384)
    assert most_memory(decoder) < 200 * MEGABYTE
    assert decoder.decode(encoded(photo(rng)), 384).shape == (48, 64, 3)


def test_a_picture_without_end_is_given_up_and_the_next_one_read(decoder, monkeypatch, rng):
    monkeypatch.setattr(decoder_module, "SECONDS", 1.0)
    with pytest.raises(UndecodableError, match="takes more than 1 seconds to decode"):
        decoder.decode(with_many_scans(100_000), 384)
    monkeypatch.undo()
    assert decoder.decode(encoded(photo(rng)), 384).shape == (48, 64, 3)


def test_a_worker_that_died_is_told_and_replaced(decoder, rng):
    picture = encoded(photo(rng))
    first = decoder.decode(picture, 384)
    decoder.process.kill()
    decoder.process.wait()
    with pytest.raises(UndecodableError, match="ends its decoder"):
        decoder.decode(picture, 384)
    np.testing.assert_array_equal(decoder.decode(picture, 384), first)


def test_the_worker_gives_what_this_process_gives(decoder, tmp_path, rng):
    for kind in ("PNG", "JPEG"):
        content = encoded(photo(rng, 500, 900), kind)
        (tmp_path / "a").write_bytes(content)
        for source in (content, tmp_path / "a"):
            np.testing.assert_array_equal(decoder.decode(source, 384), read_picture(content))


def test_what_is_simple_needs_no_worker(rng):
    pictures = [encoded(photo(rng), "PNG"), encoded(photo(rng), "JPEG"), encoded(photo(rng), "JPEG", progressive=True)]
    assert all(is_simple(io.BytesIO(content)) for content in pictures)
    others = [
        blank_png(SIDE, 8, 0, 1),
        with_many_scans(100),
        with_greedy_tags(6_000),
        with_two_exif_segments(encoded(photo(rng), "JPEG")),
        encoded(photo(rng), "JPEG", icc_profile=bytes(2**21)),
        blank_png(32, 8, 2, 3) + bytes(2**26),
        encoded(photo(rng), "GIF"),
        encoded(photo(rng), "TIFF"),
    ]
    assert not any(is_simple(io.BytesIO(content)) for content in others)


@on_linux
@pytest.mark.parametrize("as_file", [False, True], ids=["bytes", "file"])
def test_what_might_take_too_much_is_read_by_the_worker(as_file, tmp_path, monkeypatch):
    """And refused as the worker refuses it: this process has no limit of its own."""
    monkeypatch.setattr(decoder_module, "MEMORY", 64 * MEGABYTE)
    the_decoder().close()  # the next one has the limit
    content = blank_png(SIDE, 8, 2, 3)
    (tmp_path / "a.png").write_bytes(content)
    try:
        with pytest.raises(PictureError, match=r"needs more than 0\.0625 GB of memory"):
            read_picture(tmp_path / "a.png" if as_file else content)
    finally:
        the_decoder().close()


def test_too_many_pixels_are_refused_before_they_are_decoded_whatever_pillow_would_take(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda *_: pytest.fail("it was decoded"))
    wide = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", wide) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    with pytest.raises(UndecodableError, match="has more than 178,956,970 pixels"):
        decode(io.BytesIO(content), 384)


def test_every_process_has_one_worker_of_its_own():
    mine = the_decoder()
    assert the_decoder() is mine
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"same" if the_decoder() is mine else b"own")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 10) == b"own"
    os.close(reading)
    os.close(writing)
