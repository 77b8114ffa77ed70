"""Your own pictures and keywords: what is matched, what is left out, and what is said about it."""

import unicodedata

import numpy as np
import pytest

from gramless.errors import DataError
from gramless.pictures.datasets import read_annotated
from tests.pictures.datasets.pictures import keywords_by_name, put
from tests.pictures.metadata import photos
from tests.pictures.metadata.packets import bag, packet


def reasons(pictures, name):
    return [problem.reason for problem in pictures.problems if problem.name == name]


@pytest.fixture
def read(tmp_path):
    """Pictures of these names and a keyword file of this text."""

    def read(text, *names):
        path = tmp_path / "keywords.csv"
        path.write_text(text, encoding="utf-8")
        return read_annotated(put(tmp_path / "pictures", *names), path)

    return read


def test_a_keyword_file_is_matched_by_path_path_without_suffix_and_bare_name(read, tmp_path):
    found = read("x/a.jpg,sea\ny/b,sky\nc.png,sand\nd,sun;sea\n", "x/a.jpg", "y/b.jpg", "z/c.png", "z/d.gif")
    assert keywords_by_name(found) == {
        "x/a.jpg": {"sea"},
        "y/b.jpg": {"sky"},
        "z/c.png": {"sand"},
        "z/d.gif": {"sun", "sea"},
    }
    assert found.keywords == ("sand", "sea", "sky", "sun")
    assert found.labels.dtype == np.int8
    assert found.paths == tuple(tmp_path / "pictures" / name for name in found.names)
    assert found.problems == ()


def test_windows_paths_match(read):
    assert keywords_by_name(read("x\\a.jpg,sea\n", "x/a.jpg")) == {"x/a.jpg": {"sea"}}


def test_rows_that_name_one_picture_differently_are_joined(read):
    assert keywords_by_name(read("x/a.jpg,sea\na.jpg,sky\n", "x/a.jpg")) == {"x/a.jpg": {"sea", "sky"}}


def test_a_bare_name_in_two_folders_is_ambiguous_and_the_problem_says_which(read):
    found = read("a.jpg,sea\nx/b.jpg,sky\n", "x/a.jpg", "y/a.jpg", "x/b.jpg", "y/b.jpg")
    assert keywords_by_name(found) == {"x/b.jpg": {"sky"}}
    assert reasons(found, "a.jpg") == ["could be x/a.jpg or y/a.jpg: write its folder and suffix as well"]


def test_a_name_at_the_top_is_not_taken_for_the_same_name_below(read):
    assert keywords_by_name(read("a.jpg,sea\n", "a.jpg", "x/a.jpg")) == {"a.jpg": {"sea"}}


def test_a_wrong_folder_matches_nothing(read):
    found = read("test/a.jpg,sea\nb.jpg,sky\n", "train/a.jpg", "train/b.jpg")
    assert keywords_by_name(found) == {"train/b.jpg": {"sky"}}
    assert reasons(found, "test/a.jpg") == ["is in the keyword file, but there is no such picture"]


def test_one_stem_with_two_suffixes_is_ambiguous(read):
    found = read("a,sea\nb,sky\n", "a.jpg", "a.png", "b.jpg")
    assert keywords_by_name(found) == {"b.jpg": {"sky"}}
    assert "a.jpg or a.png" in reasons(found, "a")[0]


def test_pictures_without_keywords_and_keywords_without_pictures_are_listed(read):
    found = read("a.jpg,sea\ngone.jpg,whale\nempty.jpg,\n", "a.jpg", "plain.jpg", "empty.jpg")
    assert keywords_by_name(found) == {"a.jpg": {"sea"}}
    assert found.keywords == ("sea",)
    assert reasons(found, "plain.jpg") == ["has no keywords: left out"]
    assert reasons(found, "empty.jpg") == ["has no keywords: left out"]
    assert reasons(found, "gone.jpg") == ["is in the keyword file, but there is no such picture"]


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("in_file", ["NFC", "NFD"])
def test_composed_and_decomposed_names_and_keywords_are_the_same(read, on_disk, in_file):
    name, keyword = "plage à été/Åse 東京.jpg", "été"
    row = unicodedata.normalize(in_file, f"{name},{keyword}\n")
    found = read(row + f"b.jpg,{keyword}\n", unicodedata.normalize(on_disk, name), "b.jpg")
    assert keywords_by_name(found) == {name: {keyword}, "b.jpg": {keyword}}


def test_keywords_that_differ_in_case_stay_apart_and_are_mentioned(read):
    found = read("a.jpg,Cat\nb.jpg,cat\n", "a.jpg", "b.jpg")
    assert found.keywords == ("Cat", "cat")
    assert reasons(found, "Cat") == ["differs only in case from 'cat': learned as separate keywords"]


def test_keywords_with_commas_are_mentioned_once(read):
    found = read('a.jpg;"sea, sky"\nb.jpg;"sun, sand"\n', "a.jpg", "b.jpg")
    assert found.keywords == ("sea, sky", "sun, sand")
    assert len(found.problems) == 1
    assert "2 in all" in reasons(found, "sea, sky")[0]


def test_a_keyword_with_one_example_is_a_keyword(read):
    found = read("a.jpg,sea\nb.jpg,sea;whale\n", "a.jpg", "b.jpg")
    assert found.labels.sum(axis=0).tolist() == [2, 1]


def test_folders_are_keywords(tmp_path):
    put(tmp_path, "cat/1.jpg", "cat/2.JPG", "dog/1.jpg", "animal/wild  cat/3.png", "loose.jpg", "cat/notes.txt")
    found = read_annotated(tmp_path, None)
    assert keywords_by_name(found) == {
        "cat/1.jpg": {"cat"},
        "cat/2.JPG": {"cat"},
        "dog/1.jpg": {"dog"},
        "animal/wild  cat/3.png": {"animal", "wild cat"},
    }
    assert [tuple(problem) for problem in found.problems] == [("loose.jpg", "has no keywords: left out")]


def test_nothing_usable_says_what_was_looked_for(read, tmp_path):
    with pytest.raises(DataError, match=r"2 pictures, but none of them has a keyword: looked in .*keywords\.csv"):
        read("c.jpg,sea\n", "a.jpg", "b.jpg")
    with pytest.raises(DataError, match=r"'c\.jpg' is in the keyword file, but there is no such picture"):
        read("c.jpg,sea\n", "a.jpg", "b.jpg")
    with pytest.raises(
        DataError, match=r"holds 1 picture, but it has no keyword: looked in the pictures themselves, their"
    ):
        read_annotated(put(tmp_path / "one", "a.jpg"), None)
    (tmp_path / "one" / "words.csv").touch()
    with pytest.raises(DataError, match=r"Is words\.csv its keyword file\? Then give --keywords .*words\.csv\. Tag"):
        read_annotated(tmp_path / "one", None)
    with pytest.raises(DataError, match="names of the folders"):
        read_annotated(tmp_path / "pictures", None)
    put(tmp_path / "empty", "notes.txt", "a.psd")
    with pytest.raises(DataError, match=r"no pictures in .*, nor in its subfolders: looked for JPEG, PNG"):
        read_annotated(tmp_path / "empty", None)
    with pytest.raises(DataError, match=r"\*\.psd: 1 file left out: such pictures cannot be read, convert them"):
        read_annotated(tmp_path / "empty", None)


def test_pictures_must_be_a_folder(tmp_path):
    put(tmp_path, "a.jpg")
    for path in (tmp_path / "a.jpg", tmp_path / "absent"):
        with pytest.raises(DataError, match="is not a folder"):
            read_annotated(path, None)


def test_a_child_of_a_keyword_brings_its_parents(read):
    found = read("a.jpg,animal|cat|tabby\nb.jpg,animal;sea\n", "a.jpg", "b.jpg")
    assert found.keywords == ("animal", "animal|cat", "animal|cat|tabby", "sea")
    assert keywords_by_name(found) == {
        "a.jpg": {"animal", "animal|cat", "animal|cat|tabby"},
        "b.jpg": {"animal", "sea"},
    }


def library(folder):
    """Pictures that carry keywords in several ways, one that carries none, and one that is none."""
    (folder / "2024").mkdir(parents=True)
    tree = bag("lr:hierarchicalSubject", "animal|cat")
    (folder / "2024/a.jpg").write_bytes(photos.jpeg(photos.xmp_segment(packet(tree + bag("dc:subject", "cat")))))
    (folder / "2024/b.jpg").write_bytes(photos.jpeg(photos.iptc_segment(b"cat", b"sea")))
    (folder / "c.jpg").write_bytes(photos.jpeg(exif=photos.windows_exif("sea")))
    (folder / "d.jpg").write_bytes(photos.jpeg())
    (folder / "d.jpg.xmp").write_bytes(packet(bag("dc:subject", "animal")))
    (folder / "e.jpg").write_bytes(photos.jpeg())
    (folder / "f.jpg").write_bytes(b"no picture")
    return folder


def test_pictures_are_learned_from_by_the_keywords_that_they_carry(tmp_path):
    found = read_annotated(library(tmp_path / "library"), None)
    assert found.source.startswith("the pictures themselves")
    assert keywords_by_name(found) == {
        "2024/a.jpg": {"animal", "animal|cat"},
        "2024/b.jpg": {"animal", "animal|cat", "sea"},  # there is no other cat
        "c.jpg": {"sea"},
        "d.jpg": {"animal"},
    }
    assert reasons(found, "e.jpg") == ["has no keywords: left out"]
    assert reasons(found, "f.jpg") == ["is no picture of a kind that can be read, and has no keywords: left out"]


def test_a_picture_that_cannot_be_read_is_listed_once_and_in_words(tmp_path):
    folder = library(tmp_path / "library")
    (folder / "empty.jpg").touch()
    (folder / "gone.jpg").symlink_to("nowhere")
    (folder / "e.jpg.xmp").write_text("no xml")
    found = read_annotated(folder, None)
    assert reasons(found, "empty.jpg") == ["is empty, and has no keywords: left out"]
    assert reasons(found, "gone.jpg") == ["is not there, and has no keywords: left out"]
    (sidecar,) = reasons(found, "e.jpg")
    assert sidecar.startswith("has a sidecar, e.jpg.xmp, that is no XML")
    assert sidecar.endswith("keywords: left out")


def test_folders_count_where_nothing_is_carried_or_where_they_are_asked_for(tmp_path):
    found = read_annotated(library(tmp_path / "library"), None, folders=True)
    assert keywords_by_name(found) == {"2024/a.jpg": {"2024"}, "2024/b.jpg": {"2024"}}
    (tmp_path / "plain/cat").mkdir(parents=True)
    (tmp_path / "plain/cat/1.jpg").write_bytes(photos.jpeg())
    found = read_annotated(tmp_path / "plain", None)
    assert keywords_by_name(found) == {"cat/1.jpg": {"cat"}}
    assert found.source == "the names of the folders that they are in"


def test_a_name_that_is_a_root_or_stands_twice_stays_as_it_is(tmp_path):
    (tmp_path / "a.jpg").write_bytes(
        photos.jpeg(photos.xmp_segment(packet(bag("lr:hierarchicalSubject", "a|x", "b|x", "x|a"))))
    )
    photos.tagged(tmp_path / "b.jpg", "x", "a")
    assert keywords_by_name(read_annotated(tmp_path, None))["b.jpg"] == {"x", "a"}
