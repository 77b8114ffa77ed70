"""INRIA's vector files against rows packed one number at a time."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from gramless.datasets import read_corel5k, read_inria, read_vectors
from gramless.errors import DataError

CODES = {".hvecs": ("H", "H"), ".hvecs32": ("I", "I"), ".fvec": ("i", "f")}
TYPES = {".hvecs": np.uint16, ".hvecs32": np.uint32, ".fvec": np.float32}


def pack(suffix, rows):
    count, value = CODES[suffix]
    return b"".join(struct.pack(f"<{count}{len(row)}{value}", len(row), *row) for row in rows)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


@pytest.fixture
def collection(tmp_path, write):
    """Three training pictures, two keywords, and three features of different kinds."""
    write("toy_dictionary.txt", b"sky\nsea\n")
    write("toy_train_list.txt", b"1/10\n1/11\n2/20\n")
    write("toy_train_annot.hvecs", pack(".hvecs", [[1, 0], [1, 1], [0, 0]]))
    write("toy_train_DenseHue.hvecs", pack(".hvecs", [[5, 0, 65535], [1, 2, 3], [0, 0, 1]]))
    write("toy_train_Rgb.hvecs32", pack(".hvecs32", [[70000, 1], [2, 3], [4, 5]]))
    write("toy_train_Gist.fvec", pack(".fvec", [[0.5], [0.25], [-1.5]]))
    write("toy_test_DenseHue.hvecs", pack(".hvecs", [[9, 9, 9]]))
    write("readme.txt", b"hello")
    return tmp_path


@pytest.mark.parametrize("suffix", CODES)
def test_rows_come_as_they_were_packed(write, suffix):
    rows = [[1, 2, 3], [4, 5, 60000]]
    vectors = read_vectors(write(f"v{suffix}", pack(suffix, rows)))
    assert vectors.dtype == TYPES[suffix]
    assert vectors.tolist() == rows
    assert vectors.flags.c_contiguous


@pytest.mark.parametrize("suffix", CODES)
@pytest.mark.parametrize("missing", [1, 2, 7, 8])
def test_a_file_that_is_cut_off_is_an_error(write, suffix, missing):
    content = pack(suffix, [[1, 2, 3, 4], [5, 6, 7, 8]])[:-missing]
    with pytest.raises(DataError, match="is cut off"):
        read_vectors(write(f"v{suffix}", content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x01", "is empty"),
        (struct.pack("<H", 0), "have 0 dimensions"),
        (struct.pack("<H", 65535), "is cut off: its first row has 65535"),
        (pack(".hvecs", [[1, 2], [1, 2, 3], [1]]), "mixes dimensions: row 0 has 2, row 1 says 3"),
    ],
)
def test_damaged_files_are_explained(write, content, message):
    with pytest.raises(DataError, match=message):
        read_vectors(write("v.hvecs", content))


def test_negative_dimensions_unknown_suffixes_and_missing_files_are_explained(write, tmp_path):
    with pytest.raises(DataError, match="have -3 dimensions"):
        read_vectors(write("v.fvec", struct.pack("<i3f", -3, 1, 2, 3)))
    with pytest.raises(DataError, match="its suffix says how to read it"):
        read_vectors(write("v.txt", b"1 2 3"))
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_vectors(tmp_path / "absent.fvec")


def test_whatever_features_are_there_become_views(collection):
    found = read_inria(collection, "train")
    assert found.views.layout == {"DenseHue": 3, "Gist": 1, "Rgb": 2}
    assert found.views["DenseHue"].tolist() == [[5, 0, 65535], [1, 2, 3], [0, 0, 1]]
    assert found.views["Rgb"].tolist() == [[70000, 1], [2, 3], [4, 5]]
    assert found.views["Gist"].tolist() == [[0.5], [0.25], [-1.5]]
    assert {found.views[name].dtype for name in found.views.names} == {np.dtype(np.float32)}
    assert found.names == ("1/10", "1/11", "2/20")
    assert found.keywords == ("sky", "sea")
    assert found.labels.tolist() == [[1, 0], [1, 1], [0, 0]]
    assert found.labels.dtype == np.int8


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("toy_train_annot.hvecs", pack(".hvecs", [[1, 0]]), "must hold 0 and 1 for 3 pictures and 2 keywords"),
        ("toy_train_annot.hvecs", pack(".hvecs", [[1, 0], [7, 0], [0, 0]]), "up to 7 came"),
        ("toy_train_Rgb.hvecs32", pack(".hvecs32", [[1, 2]]), "describes 1 pictures, but the list names 3"),
        ("toy_train_Gist.fvec", pack(".fvec", [[np.nan], [1.0], [1.0]]), "'Gist' contains NaN"),
        ("other_dictionary.txt", b"sky\n", "must hold one file"),
    ],
)
def test_files_that_contradict_each_other_are_explained(collection, write, name, content, message):
    write(name, content)
    with pytest.raises(DataError, match=message):
        read_inria(collection, "train")


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        ("toy_dictionary.txt", "there is none"),
        ("toy_train_annot.hvecs", "has no toy_train_annot.hvecs"),
        ("toy_train_list.txt", "there is no file .*toy_train_list.txt"),
    ],
)
def test_missing_files_are_named(collection, absent, message):
    (collection / absent).unlink()
    with pytest.raises(DataError, match=message):
        read_inria(collection, "train")


def test_a_part_without_features_is_an_error(collection, write):
    for path in collection.glob("toy_train_[DRG]*"):
        path.unlink()
    with pytest.raises(DataError, match="has no files toy_train_<feature>"):
        read_inria(collection, "train")


@pytest.mark.skipif("GRAMLESS_COREL5K" not in os.environ, reason="GRAMLESS_COREL5K names no folder with COREL5k")
@pytest.mark.parametrize("part", ["train", "test"])
def test_inrias_own_files_agree_with_corel5ks(part):
    folder = Path(os.environ["GRAMLESS_COREL5K"])
    theirs, ours = read_inria(folder / "inria", part), read_corel5k(folder, part)
    assert theirs.keywords == ours.keywords
    assert [f"{name}.jpeg" for name in theirs.names] == list(ours.names)
    np.testing.assert_array_equal(theirs.labels, ours.labels)
    assert theirs.views.layout["DenseHue"] == 100
