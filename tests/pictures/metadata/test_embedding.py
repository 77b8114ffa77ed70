"""XMP inside of JPEG and PNG files: in, out, and not a byte of the rest changed."""

import io

import numpy as np
import pytest
from PIL import Image

from gramless.pictures.metadata import jpeg, png
from gramless.pictures.metadata.packet import PacketError
from tests.pictures.metadata import photos
from tests.pictures.metadata.packets import LIGHTROOM_FILE

OTHER = LIGHTROOM_FILE.replace(b"+0.50", b"-1.25 and more")


@pytest.mark.parametrize("exif", [None, photos.windows_exif("mum")])
def test_jpeg_in_and_out(exif):
    start = photos.jpeg(photos.iptc_segment(b"mum"), exif=exif)
    assert jpeg.read_packet(io.BytesIO(start)) is None
    content = jpeg.with_packet(start, LIGHTROOM_FILE)
    assert jpeg.read_packet(io.BytesIO(content)) == LIGHTROOM_FILE
    with Image.open(io.BytesIO(content)) as image, Image.open(io.BytesIO(start)) as before:
        assert image.info["xmp"] == LIGHTROOM_FILE
        np.testing.assert_array_equal(np.asarray(image), np.asarray(before))
        assert dict(image.getexif()) == dict(before.getexif())
    assert photos.scan_of(content) == photos.scan_of(start)
    assert len(content) == len(start) + 4 + len(photos.XMP) + len(LIGHTROOM_FILE)
    other = jpeg.with_packet(content, OTHER)
    assert jpeg.read_packet(io.BytesIO(other)) == OTHER
    assert jpeg.with_packet(other, None) == start


def test_xmp_stands_after_jfif_and_exif():
    content = jpeg.with_packet(photos.jpeg(exif=photos.windows_exif("mum")), OTHER)
    assert 0 < content.index(b"JFIF\0") < content.index(b"Exif\0") < content.index(photos.XMP)


def test_jpeg_fill_bytes_and_other_application_segments_are_passed_over():
    start = photos.jpeg(b"\xff\xff" + photos.segment(0xE1, b"something else"), photos.xmp_segment(OTHER))
    assert jpeg.read_packet(io.BytesIO(start)) == OTHER
    assert jpeg.with_packet(start, OTHER) == start


def test_what_a_jpeg_file_cannot_hold_is_refused():
    with pytest.raises(PacketError, match="more than a JPEG file holds"):
        jpeg.with_packet(photos.jpeg(), b"x" * 65_510)
    with pytest.raises(PacketError, match="two XMP packets"):
        jpeg.with_packet(photos.jpeg(photos.xmp_segment(OTHER), photos.xmp_segment(OTHER)), OTHER)
    after = photos.jpeg(photos.segment(0xE2, b"MPF\0" + b"\0" * 20), photos.xmp_segment(OTHER))
    with pytest.raises(PacketError, match="several pictures"):
        jpeg.with_packet(after, LIGHTROOM_FILE)
    before = photos.jpeg(photos.segment(0xE2, b"MPF\0" + b"\0" * 20))
    assert jpeg.read_packet(io.BytesIO(jpeg.with_packet(before, OTHER))) == OTHER


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 5, 30, 100])
def test_damaged_jpeg_files_are_refused(cut):
    whole = photos.jpeg(photos.xmp_segment(OTHER))
    with pytest.raises(PacketError, match="JPEG file"):
        jpeg.with_packet(whole[:cut], OTHER)
    with pytest.raises(PacketError, match="damaged"):
        jpeg.read_packet(io.BytesIO(whole[:20] + b"\0" + whole[21:]))


@pytest.mark.parametrize("compressed", [False, True])
def test_png_in_and_out(compressed):
    start = photos.png()
    assert png.read_packet(io.BytesIO(start)) is None
    content = png.with_packet(start, LIGHTROOM_FILE)
    assert png.read_packet(io.BytesIO(content)) == LIGHTROOM_FILE
    with Image.open(io.BytesIO(content)) as image, Image.open(io.BytesIO(start)) as before:
        image.load()  # which looks at the check sums
        assert image.info["XML:com.adobe.xmp"] == LIGHTROOM_FILE.decode()
        np.testing.assert_array_equal(np.asarray(image), np.asarray(before))
    assert png.with_packet(content, None) == start
    theirs = photos.png(OTHER, compressed)
    assert png.read_packet(io.BytesIO(theirs)) == OTHER
    assert png.read_packet(io.BytesIO(png.with_packet(theirs, LIGHTROOM_FILE))) == LIGHTROOM_FILE
    assert png.with_packet(theirs, None) == start


@pytest.mark.parametrize("cut", [0, 7, 8, 12, 60, -4])
def test_damaged_png_files_are_refused(cut):
    with pytest.raises(PacketError, match="PNG file"):
        png.with_packet(photos.png()[:cut] if cut >= 0 else photos.png()[: cut - 8], OTHER)


def test_a_compressed_packet_that_never_ends_is_refused():
    bomb = photos.png(b"<a/>" + b" " * (11 * 10**6), compressed=True)
    with pytest.raises(PacketError, match="damaged, or too large"):
        png.read_packet(io.BytesIO(bomb))
