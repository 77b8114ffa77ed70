"""What values may be: parameters, and arrays that a class holds. All else is refused in words.

Parameters are declared as scikit-learn declares them (`Constraints`), and checked where they are given; arrays are
checked by the class that holds them, whoever makes it (`check_array`).
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions, validate_parameter_constraints
from torch import Tensor

from gramless.errors import DataError

__all__ = [
    "ASCENDING",
    "DEVICE",
    "INPUT",
    "NOT_NEGATIVE",
    "POSITIVE",
    "WHOLE_NUMBERS",
    "Constraints",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "Such",
    "check_arguments",
    "check_array",
    "check_parameters",
    "function_of",
    "is_sequence",
    "whole",
]

Constraints = dict[str, list[Any]]

LARGEST = sys.float_info.max


class Such(Options):
    """Whatever holds for a value, and how to say it; an Options, because scikit-learn takes its own kinds only."""

    def __init__(self, holds: Callable[[Any], bool], words: str) -> None:
        super().__init__(object, set())
        self._holds, self._words = holds, words

    def is_satisfied_by(self, val: Any) -> bool:
        return self._holds(val)

    def __str__(self) -> str:
        return self._words


def whole(least: int, most: int = 2**63 - 1) -> Interval:
    return Interval(Integral, least, most, closed="both")


def function_of(n_arguments: int, words: str) -> Such:
    """A function that can be called with so many arguments; of those that do not say what they take, any."""

    def holds(value: Any) -> bool:
        try:
            inspect.signature(value).bind(*range(n_arguments))
        except ValueError:  # compiled code tells nobody
            return callable(value)
        except TypeError:
            return False
        return True

    return Such(holds, words)


def is_sequence(value: Any) -> bool:
    """Whether something lists values, in order: a list, a tuple or a 1-D array."""
    return (isinstance(value, Sequence) and not isinstance(value, (str, bytes))) or (
        isinstance(value, np.ndarray) and value.ndim == 1
    )


def _whole_numbers(value: Any) -> bool:
    return is_sequence(value) and all(isinstance(n, Integral) and int(n) >= 1 for n in value)


def _ascending(value: Any) -> bool:
    return is_sequence(value) and len(value) == 2 and all(map(POSITIVE.is_satisfied_by, value)) and value[0] <= value[1]


def _device_name(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"auto|cpu|cuda(:\d+)?", value) is not None


POSITIVE = Interval(Real, 0, LARGEST, closed="right")
NOT_NEGATIVE = Interval(Real, 0, LARGEST, closed="both")
WHOLE_NUMBERS = Such(_whole_numbers, "a sequence of whole numbers of at least 1")
ASCENDING = Such(_ascending, "a pair of positive numbers, the lower one first")
DEVICE = Such(_device_name, "one of 'auto', 'cpu', 'cuda' and 'cuda:N'")
INPUT: Constraints = {
    "views": [Such(lambda value: isinstance(value, Mapping), "a mapping of names of views to their columns"), None],
    "random_state": ["random_state"],
}
"""Of every estimator: how one array is cut into views, and what is random."""


def check_arguments(function: str, constraints: Constraints, /, **given: Any) -> None:
    """Refuse the first argument of a function that its constraints do not allow."""
    validate_parameter_constraints(constraints, given, function)


def check_parameters(instance: Any) -> None:
    """Refuse the first parameter of a value (a dataclass) that its `_parameter_constraints` do not allow."""
    given = {name: getattr(instance, name) for name in instance._parameter_constraints}
    check_arguments(type(instance).__name__, instance._parameter_constraints, **given)


PIECE = 1 << 16  # numbers looked at at once: looking takes no memory to speak of


def check_array(
    what: str,
    array: Any,
    shape: Sequence[int | None],
    *,
    kinds: str = "f",
    least: float | None = None,
    finite: bool = True,
) -> None:
    """Refuse an array or tensor of another kind (as NumPy names them) or shape, or with numbers that cannot be.

    shape : None for a side of any length
    least : the smallest number that can be
    finite : whether infinity cannot be; NaN never can
    """
    if not isinstance(array, (np.ndarray, Tensor)) or _kind(array) not in kinds:
        raise DataError(f"{what} must be an array of numbers, got {_described(array)}.")
    if len(array.shape) != len(shape) or any(w is not None and w != s for w, s in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if side is None else str(side) for side in shape)
        raise DataError(f"{what} must have the shape ({wanted}), got {_described(array)}.")
    for piece in _pieces(array):
        if _kind(array) == "f" and _holds_none(piece, finite):
            raise DataError(f"{what} must be numbers, got NaN{' or infinity' if finite else ''}.")
        if least is not None and bool((piece < least).any()):
            raise DataError(f"{what} must be at least {least:g}, got {float(piece.min()):g}.")


def _kind(array: np.ndarray | Tensor) -> str:
    if isinstance(array, np.ndarray):
        return array.dtype.kind
    return "f" if array.dtype.is_floating_point else np.dtype(str(array.dtype).removeprefix("torch.")).kind


def _pieces(array: Any) -> Iterator[Any]:
    if array.ndim < 2:
        array = array.reshape(-1)
    n_numbers = int(np.prod(array.shape, dtype=object))
    rows = max(1, PIECE * len(array) // max(n_numbers, 1))
    for start in range(0, len(array) if n_numbers else 0, rows):
        yield array[start : start + rows]


def _holds_none(piece: Any, finite: bool) -> bool:
    """Whether some of the numbers are none."""
    if not finite:
        return bool((piece != piece).any())
    return not bool((piece.isfinite() if isinstance(piece, Tensor) else np.isfinite(piece)).all())


def _described(array: Any) -> str:
    if not isinstance(array, (np.ndarray, Tensor)):
        return type(array).__name__
    return f"{array.dtype} of shape {tuple(array.shape)}"
