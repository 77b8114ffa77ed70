"""8-bit codes of non-negative numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.packing import Numbers
from gramless.engine.program import CODE_LEVELS


def encode(x: Numbers, step: float) -> np.ndarray:
    """round(x / step), at most 255, of C-contiguous float32 x (n, d): uint8 (n, d)."""
    x = np.asarray(x)
    codes = np.empty(x.shape, dtype=np.uint8)
    _encode(x.ravel(), np.float32(1.0 / step), codes.ravel())
    return codes


@compiled
def _encode(x: Any, per_step: Any, codes: Any) -> Any:
    encode_into(x, per_step, codes)


@njit
def encode_into(x: Any, per_step: Any, codes: Any) -> Any:
    top, half = np.float32(CODE_LEVELS), np.float32(0.5)
    for k in range(len(x)):
        codes[k] = np.uint8(min(x[k] * per_step, top) + half)
