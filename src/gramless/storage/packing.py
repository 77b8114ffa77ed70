"""Arrays of floats that are mostly zeros, as a mask and the values that are none.

The list [name of the mask, name of the values, shape] stands for such an array. The mask has one bit per number in C
order, the first one in the highest bit (np.packbits), set where the number has any bit set, and the values are those
numbers: -0.0 and every NaN come back as they were.
"""

from __future__ import annotations

import math

import numpy as np

from gramless.errors import FileFormatError

PACKED_BYTES = 4_096  # smaller arrays stay as they are
PACKED_SHARE = 0.75  # of the plain size, below which packing is worth it


def worth_packing(array: np.ndarray) -> bool:
    if array.dtype.kind != "f" or array.nbytes < PACKED_BYTES:
        return False
    packed_bytes = array.size / 8 + np.count_nonzero(_bits(array)) * array.itemsize
    return bool(packed_bytes < PACKED_SHARE * array.nbytes)


def pack(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mask (n_bytes,) uint8 of the numbers that are not zero, and those numbers (n_values,)."""
    nonzero = _bits(array) != 0
    return np.packbits(nonzero, axis=None), array[nonzero]


def unpack(mask: np.ndarray, values: np.ndarray, shape: list[int]) -> np.ndarray:
    """What `pack` was given; an error where the parts do not fit together."""
    size = math.prod(shape)
    if min(shape, default=0) < 0 or mask.dtype != np.uint8 or mask.shape != (-(-size // 8),):
        raise FileFormatError(
            f"the file is damaged: a mask of shape {mask.shape} and type {mask.dtype} cannot be that of an array of "
            f"shape {tuple(shape)}. Save the model again."
        )
    nonzero = np.unpackbits(mask, count=size).view(bool)
    n_nonzero = int(np.count_nonzero(nonzero))
    if values.shape != (n_nonzero,):
        raise FileFormatError(
            f"the file is damaged: an array has {n_nonzero} numbers that are not zero, but values of shape "
            f"{values.shape} are there for them. Save the model again."
        )
    array = np.zeros(size, dtype=values.dtype)
    array[nonzero] = values
    return array.reshape(shape)


def _bits(array: np.ndarray) -> np.ndarray:
    """The same memory as whole numbers, of which 0.0 alone is zero."""
    return array.view(f"u{array.itemsize}")
