"""What an array must be for the class that holds it: its kind, its shape, its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from gramless.errors import DataError

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
