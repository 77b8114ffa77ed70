"""Rows of annotated pictures, and the label matrix."""

from pathlib import Path

import numpy as np
import pytest

from gramless.pictures.datasets import AnnotatedPictures
from gramless.pictures.datasets.annotated import mark_keywords
from gramless.support.pages import Problem


@pytest.fixture
def pictures():
    names = ("a.jpg", "b.jpg", "c.jpg")
    labels = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int8)
    return AnnotatedPictures(tuple(map(Path, names)), names, ("cat", "dog"), labels, (Problem("d.jpg", "is gone"),))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (slice(1, None), [1, 2]),
        ([2, 0], [2, 0]),
        (np.array([True, False, True]), [0, 2]),
        (-1, [2]),
        (np.array([], dtype=int), []),
    ],
)
def test_rows_of_everything_are_selected_together(pictures, rows, expected):
    chosen = pictures[rows]
    assert len(chosen) == len(expected)
    assert chosen.names == tuple(pictures.names[i] for i in expected)
    assert chosen.paths == tuple(pictures.paths[i] for i in expected)
    assert chosen.labels.tolist() == [pictures.labels[i].tolist() for i in expected]
    assert (chosen.keywords, chosen.problems) == (pictures.keywords, pictures.problems)


def test_a_row_that_is_not_there_is_an_error(pictures):
    with pytest.raises(IndexError):
        pictures[3]


def test_changing_a_selection_leaves_the_pictures_alone(pictures):
    before = pictures.labels.copy()
    pictures[:2].labels[:] = 9
    np.testing.assert_array_equal(pictures.labels, before)


def test_labels_mark_the_keywords_of_each_sample():
    labels = mark_keywords([["b", "a"], [], ["c", "c"]], ["c", "b", "a"])
    assert labels.dtype == np.int8
    assert labels.tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
