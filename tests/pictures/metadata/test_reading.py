"""The keywords that pictures carry: every field, what counts before what, and what is damaged."""

import json
import os
import shutil
import subprocess

import pytest

from gramless.pictures.features import PictureError, read_picture
from gramless.pictures.features import decoder as decoder_module
from gramless.pictures.metadata.marks import Given, Stamp
from gramless.pictures.metadata.reading import Carried, carried_keywords
from gramless.pictures.metadata.writing import plan_giving
from tests.pictures.features.test_decoder import MEGABYTE, greedy_tags, on_linux, with_greedy_tags
from tests.pictures.features.test_heif import UPRIGHT
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


def test_of_raw_files_that_pillow_does_not_know_exiftool_says_the_keywords(tmp_path, monkeypatch):
    """A stand-in that answers as ExifTool 12.57 does, for the arguments that it is asked with."""
    xmp = packet(bag("lr:hierarchicalSubject", "animal|cat") + bag("dc:subject", "cat", "sea")).decode()
    answer = [{"SourceFile": "x", "XMP": xmp, "Keywords": ["boat", 1984], "XPKeywords": "mum;sea"}]
    program = tmp_path / "bin" / "exiftool"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho \"$@\" > {tmp_path}/asked\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    raw = b"FUJIFILMCCD-RAW " + bytes(100)
    assert set(carried(tmp_path, raw, "-rf.raf")) == {"animal|cat", "sea", "boat", "1984", "mum"}
    assert (tmp_path / "asked").read_text().split() == [
        *("-j", "-b", "-XMP", "-IPTC:Keywords", "-EXIF:XPKeywords", str(tmp_path / "-rf.raf"))
    ]
    for wrong in ("exit 1", "echo '[]'", "echo no JSON"):
        program.write_text(f"#!/bin/sh\n{wrong}\n")
        assert "ExifTool" in carried_keywords(tmp_path / "-rf.raf").problem
    monkeypatch.setenv("PATH", "")
    assert "not installed" in carried_keywords(tmp_path / "-rf.raf").problem


def test_keywords_of_a_heic_file_by_the_real_exiftool(tmp_path):
    if shutil.which("exiftool") is None:
        pytest.skip("there is no exiftool here")
    path = tmp_path / "a b.heic"
    path.write_bytes(UPRIGHT)
    words = ["-XMP-dc:Subject=sea", "-XMP-dc:Subject=a & b", "-XMP-lr:HierarchicalSubject=animal|cat"]
    subprocess.run(["exiftool", "-q", "-overwrite_original", *words, path], check=True)
    assert set(carried_keywords(path).keywords) == {"animal|cat", "sea", "a & b"}


@on_linux
@pytest.mark.parametrize("kind", ["png", "tif"])
def test_tags_that_claim_more_memory_than_there_is_are_told(tmp_path, monkeypatch, kind):
    """Each claims all the others: 430 MB, of a file of 72 kB. This process has no limit of its own."""
    monkeypatch.setattr(decoder_module, "MEMORY", 64 * MEGABYTE)
    monkeypatch.setattr(decoder_module, "_decoder", None)
    greedy = tmp_path / f"a.{kind}"
    greedy.write_bytes(with_greedy_tags(6_000) if kind == "png" else greedy_tags(6_000))
    try:
        assert carried_keywords(greedy) == Carried((), "needs more than 0.0625 GB of memory")
        photos.pixels().save(tmp_path / "b.tif", tiffinfo={700: packet(bag("dc:subject", "mum"))})
        assert carried_keywords(tmp_path / "b.tif").keywords == ("mum",)
    finally:
        decoder_module.the_decoder().close()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_what_is_wrong_with_a_picture_is_said_as_where_it_is_decoded(kind, tmp_path):
    path = tmp_path / "a"
    photos.pixels().save(path, kind)
    whole = path.read_bytes()
    said = set()
    for length in range(1, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        problem = carried_keywords(path).problem
        if problem is not None:  # the pixels may be cut off, and all that is beside them there
            with pytest.raises(PictureError) as caught:
                read_picture(path)
            assert caught.value.reason == problem
            said.add(problem)
    assert "is no picture of a kind that can be read" in said
    assert len(said) > 1
