"""float64 in float32 where that loses nothing that matters: the fast engine is float32's, NumPy's default float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from torch import Tensor

from gramless.views.views import Views

LEAST_LOSS = 2e-5  # of a column's range: rounding below that is far below what samples differ by
ROWS = 4_096


def rounded(views: Views) -> Views:
    """The views in float32, or as they are where rounding would blur a column, or lose what is tiny or huge."""
    if views.numpy_dtype.itemsize <= 4 or views.torch_device is not None:
        return views
    blocks = {name: views[name] for name in views.names}
    if not all(loses_nothing(block) for block in blocks.values()):
        return views
    return Views({name: block.astype(np.float32) for name, block in blocks.items()})


def loses_nothing(block: Any) -> bool:
    """Whether every column (n, d) keeps its spread in float32; NaN, of a row that is missing, stays what it is."""
    if isinstance(block, Tensor):
        return False
    if sparse.issparse(block):
        block = block.data[:, None]
    n_columns = block.shape[1]
    low, high, lost = np.full(n_columns, np.inf), np.full(n_columns, -np.inf), np.zeros(n_columns)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(block), ROWS):
            rows = np.asarray(block[start : start + ROWS], dtype=np.float64)
            low, high = np.fmin(low, np.nanmin(rows, axis=0)), np.fmax(high, np.nanmax(rows, axis=0))
            lost = np.fmax(lost, np.nanmax(np.abs(rows - rows.astype(np.float32)), axis=0))
        kept = (lost <= LEAST_LOSS * (high - low)) | (low == high)
    return bool((np.isfinite(lost) & kept).all())
