"""Arrays that a class holds: what it did not ask for is refused in words, wherever in the array it stands."""

import numpy as np
import pytest
import torch

from gramless.errors import DataError
from gramless.support.checks import PIECE, check_array

LONG = np.ones((2 * PIECE, 3))


def changed(number):
    """In the last of several pieces."""
    array = LONG.copy()
    array[-1, -1] = number
    return array


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy], ids=["array", "tensor"])
@pytest.mark.parametrize(
    ("array", "words"),
    [
        (LONG.astype(int), "array of numbers, got .*int64"),
        (LONG > 0, "array of numbers, got .*bool"),
        (LONG[:, :2], r"shape \(any, 3\), got .*2\)"),
        (LONG[:, 0], r"shape \(any, 3\), got"),
        (LONG[None], r"shape \(any, 3\), got"),
        (changed(np.nan), "got NaN or infinity"),
        (changed(-np.inf), "got NaN or infinity"),
        (changed(-0.5), "at least 0, got -0.5"),
    ],
    ids=["int", "bool", "width", "1-D", "3-D", "NaN", "infinity", "negative"],
)
def test_an_array_of_another_kind_shape_or_range_is_refused(kind, array, words):
    check_array("it", kind(LONG), (None, 3), least=0.0)
    with pytest.raises(DataError, match=words):
        check_array("it", kind(array), (None, 3), least=0.0)


def test_infinity_may_be_and_nan_never():
    check_array("it", changed(np.inf), (None, 3), finite=False)
    with pytest.raises(DataError, match="got NaN"):
        check_array("it", changed(np.nan), (None, 3), finite=False)


def test_what_is_no_array_is_refused():
    with pytest.raises(DataError, match="array of numbers, got list"):
        check_array("it", [1.0], (None,))
