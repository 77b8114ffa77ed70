"""8-bit codes of non-negative numbers: one pass over the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from gramless.engine.cpu.caching import compiled
from gramless.engine.cpu.packing import Numbers
from gramless.engine.cpu.threads import threads_of_torch
from gramless.engine.program import CODE_LEVELS


def encode(x: Numbers, step: float) -> np.ndarray:
    """round(x / step), at most 255, of C-contiguous float32 x (n, d): uint8 (n, d)."""
    x = np.asarray(x)
    codes = np.empty(x.shape, dtype=np.uint8)
    with threads_of_torch():
        _encode(x, np.float32(1.0 / step), codes)
    return codes


@compiled
def _encode(x: Any, per_step: Any, codes: Any) -> Any:
    top, half = np.float32(CODE_LEVELS), np.float32(0.5)
    for i in prange(len(x)):
        row, coded = x[i], codes[i]
        for d in range(len(row)):
            coded[d] = np.uint8(min(row[d] * per_step, top) + half)
