"""The keywords that pictures carry: every field, what counts before what, and what is damaged."""

import os

import pytest

from gramless.pictures.metadata.marks import Given, Stamp
from gramless.pictures.metadata.reading import carried_keywords
from gramless.pictures.metadata.writing import plan_giving
from tests.pictures.metadata import photos
from tests.pictures.metadata.packets import BILLION_LAUGHS, bag, packet

TREE = bag("lr:hierarchicalSubject", "family|mum", "sea") + bag("dc:subject", "family", "mum", "sea", "sky")


def carried(tmp_path, content, name="a.jpg"):
    (tmp_path / name).write_bytes(content)
    return carried_keywords(tmp_path / name).keywords


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (photos.jpeg(), ()),
        (photos.jpeg(photos.xmp_segment(packet(bag("dc:subject", "mum", "b &amp; c")))), ("mum", "b & c")),
        (photos.jpeg(photos.xmp_segment(packet(TREE))), ("family|mum", "sea", "sky")),
        (photos.jpeg(photos.xmp_segment(packet(bag("digiKam:TagsList", "family/mum", kind="Seq")))), ("family|mum",)),
        (photos.jpeg(photos.iptc_segment("Zürich".encode(), b"mum", utf8=True)), ("Zürich", "mum")),
        (photos.jpeg(photos.iptc_segment("Zürich".encode("latin-1"))), ("Zürich",)),
        (photos.jpeg(exif=photos.windows_exif("mum", " Zürich ")), ("mum", "Zürich")),
        (
            photos.jpeg(
                photos.xmp_segment(packet(TREE)), photos.iptc_segment(b"mum", b"boat"), exif=photos.windows_exif("cat")
            ),
            ("family|mum", "sea", "sky", "boat", "cat"),
        ),
        (photos.png(packet(TREE)), ("family|mum", "sea", "sky")),
        (photos.png(packet(TREE), compressed=True), ("family|mum", "sea", "sky")),
        (photos.jpeg(photos.xmp_segment(packet(bag("dc:subject", "mum")) + b"\0\0")), ("mum",)),
        (
            photos.jpeg(photos.xmp_segment(packet(bag("lr:hierarchicalSubject", "darktable|format|jpg", "sea")))),
            ("sea",),
        ),
    ],
)
def test_every_field_is_read(tmp_path, content, expected):
    assert carried(tmp_path, content) == expected


def test_other_formats_that_pillow_knows(tmp_path):
    content = packet(bag("dc:subject", "mum"))
    photos.pixels().save(tmp_path / "a.webp", xmp=content)
    photos.pixels().save(tmp_path / "a.tif", tiffinfo={700: content})
    assert carried_keywords(tmp_path / "a.webp").keywords == ("mum",)
    assert carried_keywords(tmp_path / "a.tif").keywords == ("mum",)


@pytest.mark.parametrize("name", ["a.jpg.xmp", "a.xmp"])
def test_a_sidecar_counts_instead_of_what_is_inside(tmp_path, name):
    inside = photos.jpeg(photos.xmp_segment(packet(bag("dc:subject", "old"))))
    (tmp_path / name).write_bytes(packet(bag("dc:subject", "new")))
    assert carried(tmp_path, inside) == ("new",)
    (tmp_path / name).write_bytes(packet("<dc:subject><rdf:Bag/></dc:subject>"))
    assert carried(tmp_path, inside) == ()  # somebody has removed them all
    (tmp_path / name).write_bytes(packet("<dc:title>no keywords</dc:title>"))
    assert carried(tmp_path, inside) == ("old",)


@pytest.mark.parametrize("content", [b"", b"no xml", BILLION_LAUGHS, packet("", 'dc:subject="cat"')])
def test_a_damaged_sidecar_is_told_and_what_is_inside_is_read(tmp_path, content):
    (tmp_path / "a.jpg.xmp").write_bytes(content)
    photos.tagged(tmp_path / "a.jpg", "mum")
    found = carried_keywords(tmp_path / "a.jpg")
    assert found.keywords == ("mum",)
    assert "a.jpg.xmp" in found.problem


@pytest.mark.parametrize(
    "content",
    [b"", b"no picture", photos.jpeg()[:40], photos.jpeg(photos.xmp_segment(BILLION_LAUGHS)), photos.png()[:30]],
)
def test_damaged_pictures_carry_nothing_and_say_so(tmp_path, content):
    (tmp_path / "a.jpg").write_bytes(content)
    found = carried_keywords(tmp_path / "a.jpg")
    assert found.keywords == ()
    assert found.problem


def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "c.jpg.xmp")
    photos.tagged(tmp_path / "c.jpg", "mum")
    assert carried_keywords(tmp_path / "a.jpg").problem == "is a fifo, not an ordinary file"
    assert carried_keywords(tmp_path / "b.jpg").problem == "is a device, not an ordinary file"
    assert carried_keywords(tmp_path / "c.jpg").keywords == ("mum",)


@pytest.mark.parametrize("place", ["beside", "inside"])
def test_the_machines_keywords_are_not_the_owners(tmp_path, place):
    picture = photos.tagged(tmp_path / "a.jpg", "mum")
    plan_giving(picture, [Given("sea", 0.9)], Stamp("m", "d"), place).do()
    assert carried_keywords(picture).keywords == ("mum",)
