"""What all histograms share: shares in the place of counts, whole or by bands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

BANDS = 3
"""Horizontal bands of a V3H1 layout."""


def shares(counts: NDArray[Any]) -> Floats:
    """Counts of any shape as one row that sums to 1. Where nothing was counted the row is zero, as kernels allow."""
    row = counts.ravel().astype(np.float64)
    return (row / max(row.sum(), 1.0)).astype(np.float32)
