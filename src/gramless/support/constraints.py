"""What parameters may be, declared as scikit-learn declares it, so that one place refuses everything else in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions, validate_parameter_constraints

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
    "check_parameters",
    "is_sequence",
    "whole",
]
