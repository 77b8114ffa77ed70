"""A user's own kernel function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.kernels.base import Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.statistics import Statistic

DIAGONAL_BLOCK = 64


@registered()
@dataclass(frozen=True, eq=False)
class Custom(Kernel):
    """`function(X, Z)` of two NumPy arrays, (n, d) and (m, d), gives the (n, m) kernel values.

    The same kind of function as scikit-learn's pairwise kernels and SVC take. Its diagonal is read off small
    square blocks unless `diagonal(X)` is given.
    """

    function: Callable[[np.ndarray, np.ndarray], Any]
    diagonal_function: Callable[[np.ndarray], Any] | None = None

    name = "custom"
    _parameter_constraints = Kernel._parameter_constraints | {
        "function": [callable],
        "diagonal_function": [callable, None],
    }

    def declare(self) -> Formula:
        return Formula(Statistic.GIVEN)

    def _statistics(self, x: Tensor, z: Tensor) -> Tensor:
        return self._returned(self.function(x.cpu().numpy(), z.cpu().numpy()), x, (len(x), len(z)))

    def _own_statistics(self, x: Tensor) -> Tensor:
        if self.diagonal_function is not None:
            return self._returned(self.diagonal_function(x.cpu().numpy()), x, (len(x),))
        blocks = x.split(DIAGONAL_BLOCK)
        return torch.cat([self._statistics(block, block).diagonal() for block in blocks])

    def _returned(self, returned: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """What the function returned, as finite numbers of that shape."""
        values = np.asarray(returned)
        if values.shape != shape or values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            raise DataError(
                f"the kernel function {self._label} returned {values.dtype} of shape {values.shape}"
                f"{', with NaN or infinity' if values.dtype.kind == 'f' and not np.isfinite(values).all() else ''}; "
                f"it must return finite numbers of shape {shape}, one per pair of samples."
            )
        return torch.as_tensor(values).to(dtype=x.dtype, device=x.device)

    @property
    def _label(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))
