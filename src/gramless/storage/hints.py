"""Whether a value is what a type hint asks for."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as hints in this package go: what is inside is looked at as well."""
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(conforms(value, option) for option in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        return isinstance(value, tuple) and _conform_in_order(value, inner)
    if origin in (list, Sequence):
        kinds = (list,) if origin is list else (list, tuple)
        return isinstance(value, kinds) and all(conforms(item, inner[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(_conform_in_order(pair, inner) for pair in value.items())
    if origin is Callable:
        return callable(value)
    return _is_one(value, origin or hint)


def _conform_in_order(value: tuple, hints: tuple) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(conforms(item, hints[0]) for item in value)
    return len(value) == len(hints) and all(map(conforms, value, hints))


def _is_one(value: Any, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if kind in (int, float):  # as Python has it, a whole number is a real one; a truth value is neither
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, (bool, np.bool_))
    return isinstance(value, kind)
