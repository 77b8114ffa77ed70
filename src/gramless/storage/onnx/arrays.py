"""The fixed numbers of a model as float64 arrays; the graph rounds them once to its own type."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from gramless.views import Views


def as_array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


def dense(points: Views, view: str) -> np.ndarray:
    """Fixed samples of one view: (n_points, width)."""
    return np.asarray(Views({view: points[view]}), dtype=np.float64)
