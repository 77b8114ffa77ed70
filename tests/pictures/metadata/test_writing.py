"""Writing keywords beside pictures and into them: planned, done, undone; what cannot be is left alone."""

import os

import pytest
from PIL import Image

from gramless.pictures.metadata.marks import Given, Stamp
from gramless.pictures.metadata.reading import carried_keywords
from gramless.pictures.metadata.writing import give_all, plan_giving, plan_taking_back, take_back_all
from tests.pictures.metadata import photos
from tests.pictures.metadata.packets import LIGHTROOM, bag, entries_of, packet

STAMP = Stamp("m.gramless", "2026-01-02T03:04:05+00:00")
SEA = (Given("sea", 0.9), Given("boat", 0.6))
CARRIED = {
    "nothing": photos.jpeg(),
    "xmp": photos.jpeg(photos.xmp_segment(packet(bag("dc:subject", "mum") + "<dc:title>t</dc:title>"))),
    "iptc": photos.jpeg(photos.iptc_segment(b"mum")),
    "exif": photos.jpeg(exif=photos.windows_exif("mum")),
    "zeros": photos.jpeg(photos.xmp_segment(packet(bag("dc:subject", "mum")) + b"\0")),
    "png": photos.png(packet(bag("dc:subject", "mum"))),
}


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("place", ["beside", "inside"])
@pytest.mark.parametrize("kind", CARRIED)
def test_given_replaced_and_undone(tmp_path, kind, place):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(CARRIED[kind])
    before = carried_keywords(picture)
    target = picture if place == "inside" else tmp_path / "a.jpg.xmp"
    for keywords in (SEA, SEA[:1], SEA):
        plan_giving(picture, keywords, STAMP, place).do()
        assert carried_keywords(picture) == before
        written = target.read_bytes() if place == "beside" else Image.open(picture).info["xmp"]
        written = written.encode() if isinstance(written, str) else written.rstrip(b"\0")
        expected = [*before.keywords, *(given.keyword for given in keywords)]
        assert entries_of(written) == entries_of(written, LIGHTROOM, "hierarchicalSubject") == expected
    assert names_in(tmp_path) == sorted({"a.jpg", target.name})
    later = Stamp(STAMP.model, "2027-01-01T00:00:00+00:00")
    assert not plan_giving(picture, SEA, later, place).changes  # the same answer
    assert plan_giving(picture, SEA, Stamp("other", later.date), place).changes
    plan_taking_back(target, place).do()
    assert picture.read_bytes() == CARRIED[kind]
    assert names_in(tmp_path) == ["a.jpg"]


def test_a_sidecar_starts_from_all_that_the_picture_says(tmp_path):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(CARRIED["xmp"])
    plan_giving(picture, SEA, STAMP, "beside").do()
    assert b"<dc:title>t</dc:title>" in (tmp_path / "a.jpg.xmp").read_bytes()
    (tmp_path / "a.jpg.xmp").unlink()
    (tmp_path / "a.xmp").write_bytes(packet(bag("dc:subject", "newer")))
    plan_giving(picture, SEA, STAMP, "beside").do()
    assert entries_of((tmp_path / "a.jpg.xmp").read_bytes()) == ["newer", "sea", "boat"]
    assert (tmp_path / "a.xmp").read_bytes() == packet(bag("dc:subject", "newer"))


def test_a_sidecar_without_keywords_does_not_hide_those_inside(tmp_path):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(CARRIED["iptc"])
    theirs = packet("<dc:title>edited</dc:title>")
    (tmp_path / "a.jpg.xmp").write_bytes(theirs)
    plan_giving(picture, SEA, STAMP, "beside").do()
    assert entries_of((tmp_path / "a.jpg.xmp").read_bytes()) == ["mum", "sea", "boat"]
    plan_taking_back(tmp_path / "a.jpg.xmp", "beside").do()
    assert (tmp_path / "a.jpg.xmp").read_bytes() == theirs


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(CARRIED["xmp"])
    stamps = picture.stat().st_mtime_ns
    for place in ("beside", "inside"):
        (planned,), problems = give_all([(picture, SEA)], STAMP, place, dry=True)
        assert problems == []
        assert planned.come == SEA
        assert planned.changes
        assert names_in(tmp_path) == ["a.jpg"]
        assert (picture.read_bytes(), picture.stat().st_mtime_ns) == (CARRIED["xmp"], stamps)
    give_all([(picture, SEA)], STAMP, "inside")
    written = picture.read_bytes()
    (planned,), _ = take_back_all([(picture, "inside")], dry=True)
    assert planned.gone == SEA
    assert picture.read_bytes() == written


def test_no_keywords_no_file(tmp_path):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(CARRIED["nothing"])
    for place in ("beside", "inside"):
        assert not plan_giving(picture, (), STAMP, place).changes
    assert names_in(tmp_path) == ["a.jpg"]


def test_nothing_of_ours_nothing_to_undo(tmp_path):
    picture = photos.tagged(tmp_path / "a.jpg", "mum")
    (tmp_path / "broken.xmp").write_text("no xml")
    done, problems = take_back_all([(picture, "inside"), (tmp_path / "broken.xmp", "beside")])
    assert problems == []
    assert not any(writing.changes for writing in done)


def test_what_cannot_be_written_is_left_alone_and_spoils_no_other(tmp_path):
    pictures = [tmp_path / f"{name}.jpg" for name in ("fifo", "endless", "long", "folder", "bad", "webp", "good")]
    for picture in pictures:
        picture.write_bytes(CARRIED["nothing"])
    os.mkfifo(tmp_path / "fifo.jpg.xmp")
    (tmp_path / "endless.jpg.xmp").symlink_to("/dev/zero")
    with open(tmp_path / "long.jpg.xmp", "wb") as file:
        file.truncate(10**11)
    (tmp_path / "folder.jpg.xmp").mkdir()
    (tmp_path / "bad.jpg.xmp").write_text("no xml")
    done, problems = give_all([(picture, SEA) for picture in pictures], STAMP, "beside")
    assert [problem.reason.partition(",")[0] for problem in problems] == [
        "is a fifo",
        "is a device",
        "is larger than 10 MB",
        "is a folder",
        "is no XML (syntax error: line 1",
    ]
    assert [writing.path.name for writing in done] == ["webp.jpg.xmp", "good.jpg.xmp"]
    photos.pixels().save(tmp_path / "webp.jpg", "WEBP")
    webp = (tmp_path / "webp.jpg").read_bytes()
    done, problems = give_all([(picture, SEA) for picture in pictures[-2:]], STAMP, "inside")
    assert "neither JPEG nor PNG" in problems[0].reason
    assert [writing.path.name for writing in done] == ["good.jpg"]
    assert (tmp_path / "webp.jpg").read_bytes() == webp


def test_a_full_disk_leaves_the_picture_whole(tmp_path, monkeypatch):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(CARRIED["xmp"])

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gramless.support.atomic.os.fsync", full)
    _, problems = give_all([(picture, SEA)], STAMP, "inside")
    assert problems[0].name == str(picture)
    assert "No space left" in problems[0].reason
    assert picture.read_bytes() == CARRIED["xmp"]
    assert names_in(tmp_path) == ["a.jpg"]


def test_undo_passes_over_what_is_no_picture_whatever_its_name_says(tmp_path):
    (tmp_path / "notes.jpg").write_text("no picture")
    (tmp_path / "empty.png").touch()
    done, problems = take_back_all([(tmp_path / name, "inside") for name in ("notes.jpg", "empty.png")])
    assert not problems
    assert not any(writing.changes for writing in done)
    assert (tmp_path / "notes.jpg").read_text() == "no picture"
