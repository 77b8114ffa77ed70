"""COREL5k's layout, on a small folder written in it and on the real one where there is one."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from gramless.errors import DataError
from gramless.pictures.datasets import is_corel5k, read_corel5k
from tests.pictures.datasets.pictures import keywords_by_name, put


@pytest.fixture
def folder(tmp_path):
    put(tmp_path / "images", "1000/1000.jpeg", "1000/1003.jpeg", "2000/2001.jpeg", "2000/2002.jpeg")
    (tmp_path / "corel5k_words.txt").write_text("water\nf-16\nbear\n")
    (tmp_path / "corel5k_train_list.txt").write_text("1000/1003\n2000/2001\n1000/1000\n")
    (tmp_path / "corel5k_test_list.txt").write_text("2000/2002\n")
    savemat(tmp_path / "corel5k_train_annot.mat", {"annot1": np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], np.uint16)})
    savemat(tmp_path / "corel5k_test_annot.mat", {"annot2": np.array([[0, 0, 1]], np.uint16)})
    return tmp_path


def test_rows_follow_the_list_and_columns_the_words(folder):
    found = read_corel5k(folder, "train")
    assert keywords_by_name(found) == {
        "1000/1003.jpeg": {"water", "bear"},
        "2000/2001.jpeg": set(),
        "1000/1000.jpeg": {"f-16"},
    }
    assert found.keywords == ("water", "f-16", "bear")
    assert found.paths == tuple(folder / "images" / name for name in found.names)
    assert found.labels.dtype == np.int8
    assert keywords_by_name(read_corel5k(folder, "test")) == {"2000/2002.jpeg": {"bear"}}


def test_a_picture_without_keywords_stays_and_is_mentioned(folder):
    problems = read_corel5k(folder, "train").problems
    assert [tuple(problem) for problem in problems] == [
        ("2000/2001.jpeg", "has no keywords: kept, for it belongs to the split")
    ]


@pytest.mark.parametrize("absent", ["corel5k_words.txt", "corel5k_train_list.txt", "corel5k_train_annot.mat"])
def test_missing_files_are_named(folder, absent):
    assert is_corel5k(folder)
    (folder / absent).unlink()
    assert not is_corel5k(folder)
    with pytest.raises(DataError, match=f"{absent} missing"):
        read_corel5k(folder, "train")


def test_missing_pictures_are_counted_and_named(folder):
    (folder / "images/2000/2001.jpeg").unlink()
    with pytest.raises(DataError, match=r"1 of 3 pictures are missing.*2000/2001.jpeg first"):
        read_corel5k(folder, "train")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"annot1": np.zeros((2, 3))}, r"one matrix of shape \(3, 3\).*got \(2, 3\)"),
        ({"annot1": np.full((3, 3), 2)}, "0 and 1 only"),
        ({"annot1": np.zeros((3, 3)), "annot2": np.zeros((3, 3))}, "must hold one matrix"),
        ({}, "got none"),
    ],
)
def test_a_matrix_of_another_kind_is_explained(folder, content, message):
    savemat(folder / "corel5k_train_annot.mat", content)
    with pytest.raises(DataError, match=message):
        read_corel5k(folder, "train")


@pytest.mark.parametrize("damage", [b"", b"not a matrix at all", b"\x00" * 300])
def test_a_damaged_matrix_is_explained(folder, damage):
    (folder / "corel5k_train_annot.mat").write_bytes(damage)
    with pytest.raises(DataError, match=r"cannot be read as a MATLAB file|must hold one matrix"):
        read_corel5k(folder, "train")


def test_a_folder_of_something_else_is_not_corel5k(tmp_path):
    assert not is_corel5k(tmp_path)
    assert not is_corel5k(tmp_path / "absent")


@pytest.mark.skipif("GRAMLESS_COREL5K" not in os.environ, reason="GRAMLESS_COREL5K names no folder with COREL5k")
def test_the_real_one_has_its_published_numbers():
    folder = Path(os.environ["GRAMLESS_COREL5K"])
    assert is_corel5k(folder)
    train, test = read_corel5k(folder, "train"), read_corel5k(folder, "test")
    assert (train.labels.shape, test.labels.shape) == ((4500, 260), (499, 260))
    assert len(train.problems) == 7
    assert test.problems == ()
    assert train.labels.sum(axis=1).mean() == pytest.approx(3.4, abs=0.05)
    assert train.keywords[:3] == ("city", "mountain", "sky")


@pytest.mark.skipif("GRAMLESS_COREL5K" not in os.environ, reason="GRAMLESS_COREL5K names no folder with COREL5k")
@pytest.mark.parametrize("part", ["train", "test"])
def test_inrias_own_files_agree(part):
    """Their rows are 16-bit numbers: how many follow, then 0 and 1."""
    folder = Path(os.environ["GRAMLESS_COREL5K"])
    found = read_corel5k(folder, part)
    rows = np.fromfile(folder / "inria" / f"corel5k_{part}_annot.hvecs", "<u2").reshape(-1, 1 + 260)
    assert (rows[:, 0] == 260).all()
    np.testing.assert_array_equal(found.labels, rows[:, 1:])
    assert found.keywords == tuple((folder / "inria" / "corel5k_dictionary.txt").read_text().split())
    names = (folder / "inria" / f"corel5k_{part}_list.txt").read_text().split()
    assert found.names == tuple(f"{name}.jpeg" for name in names)
