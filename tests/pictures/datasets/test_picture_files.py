"""Finding pictures in folders."""

import os
import unicodedata

import pytest
from PIL import Image

from gramless.errors import DataError
from gramless.pictures.datasets import find_pictures
from gramless.pictures.features.decoding.decode import FORMATS
from tests.pictures.datasets.pictures import put


def test_pictures_of_a_folder_come_by_name_and_nothing_else_does(tmp_path):
    put(
        tmp_path,
        "b.jpg",
        "a.PNG",
        "z/1.tiff",
        "c/d/2.webp",
        "notes.txt",
        ".hidden.jpg",
        ".cache/3.jpg",
        "jpg",
        "e.jpg.txt",
    )
    found = find_pictures([tmp_path])
    assert found.names == ["a.PNG", "b.jpg", "c/d/2.webp", "z/1.tiff"]
    assert found.paths == [tmp_path / name for name in found.names]
    assert found.problems == []


def test_files_that_are_named_are_taken_whatever_their_suffix(tmp_path):
    put(tmp_path, "a.heic", "b.jpg")
    found = find_pictures([tmp_path / "b.jpg", tmp_path / "a.heic", tmp_path / "b.jpg"])
    assert found.names == ["b.jpg", "a.heic"]


def test_every_kind_of_picture_that_can_be_read_is_found(tmp_path):
    suffixes = [suffix for suffix, kind in Image.registered_extensions().items() if kind in FORMATS]
    assert {".jpg", ".jfif", ".mpo", ".png", ".ppm", ".tiff"} <= {*suffixes}
    put(tmp_path, *(f"a{suffix}" for suffix in suffixes))
    found = find_pictures([tmp_path])
    assert found.names == sorted(f"a{suffix}" for suffix in suffixes)
    assert found.problems == []


def test_pictures_of_other_kinds_are_counted(tmp_path):
    put(tmp_path, "a.psd", "sub/b.PSD", "c.jxl", "d.jpg", "e.heic", "f.NEF", ".hidden.psd", "keywords.csv", "d.jpg.xmp")
    advice = "left out: such pictures cannot be read, convert them to JPEG"
    found = find_pictures([tmp_path, tmp_path / "sub"])
    assert found.names == ["d.jpg", "e.heic", "f.NEF"]
    assert found.problems == [("*.jxl", f"1 file {advice}"), ("*.psd", f"2 files {advice}")]
    assert find_pictures([tmp_path / "a.psd", tmp_path]).problems[1] == ("*.psd", f"1 file {advice}")


def test_pictures_of_the_same_name_in_several_places_are_told_apart(tmp_path):
    put(tmp_path, "one/a.jpg", "two/a.jpg", "two/b.jpg")
    places = [tmp_path / "one", tmp_path / "two"]
    assert find_pictures(places).names == [
        (tmp_path / name).as_posix() for name in ("one/a.jpg", "two/a.jpg", "two/b.jpg")
    ]


def test_a_folder_named_twice_gives_its_pictures_once(tmp_path):
    put(tmp_path, "a.jpg", "sub/b.jpg")
    assert find_pictures([tmp_path, tmp_path / "sub", tmp_path]).names == ["a.jpg", "sub/b.jpg"]


def test_links_in_circles_end(tmp_path):
    put(tmp_path, "a/1.jpg", "b/2.jpg")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "a" / "b").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "a").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert find_pictures([tmp_path]).names == ["a/1.jpg", "b/2.jpg"]


def test_links_to_other_folders_are_followed(tmp_path):
    put(tmp_path, "here/1.jpg", "elsewhere/2.jpg")
    (tmp_path / "here" / "there").symlink_to(tmp_path / "elsewhere")
    assert find_pictures([tmp_path / "here"]).names == ["1.jpg", "there/2.jpg"]


def test_names_are_composed_and_always_printable(tmp_path):
    put(tmp_path, unicodedata.normalize("NFD", "été.jpg"))
    with open(os.path.join(os.fsencode(tmp_path), b"caf\xe9.jpg"), "wb"):
        pass
    found = find_pictures([tmp_path])
    assert sorted(found.names) == ["caf\ufffd.jpg", "été.jpg"]
    assert all(path.exists() for path in found.paths)
    "".join(found.names).encode("utf-8")


def test_a_folder_that_may_not_be_read_is_a_problem_and_the_rest_is_found(tmp_path, monkeypatch):
    put(tmp_path, "open/1.jpg", "closed/2.jpg")
    listed = os.scandir

    def refuse(folder):
        if str(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr("os.scandir", refuse)  # the real thing cannot be shown to an administrator
    found = find_pictures([tmp_path])
    assert found.names == ["open/1.jpg"]
    assert [(problem.name.endswith("closed"), "Permission denied" in problem.reason) for problem in found.problems] == [
        (True, True)
    ]


def test_no_places_no_pictures():
    assert find_pictures([]) == ([], [], [])


def test_a_place_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(DataError, match="there is no file or folder"):
        find_pictures([tmp_path / "absent"])
