"""Kernels without a formula: a user's own function, and values that are known already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.kernels.base import Domain, Kernel, registered
from gramless.kernels.formula import Formula
from gramless.kernels.statistics import Statistic
from gramless.support.checks import check_array, function_of
from gramless.views.arrays import as_block, dense

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
        "function": [function_of(2, "a function of two arrays")],
        "diagonal_function": [function_of(1, "a function of one array"), None],
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


ROWS = 256  # looked at at once: a large matrix leaves no room for others of its size


@registered()
@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """`gram[i, j]` is the kernel between samples i and j of everything there is, training and test alike.

    Its view has one column: the number of each sample in that matrix. Any two sets of samples can then be compared,
    and splitting rows needs no special care.
    """

    gram: Any

    name = "precomputed"
    domain = Domain.SAMPLE_NUMBERS

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            given = as_block("gram", self.gram)
        except DataError as error:
            raise DataError(f"a precomputed kernel must be a square matrix of numbers: {error}") from error
        if not (isinstance(given, Tensor) and given.is_floating_point()):
            given = torch.from_numpy(dense(given).astype(float))
        gram = given.clone()  # a kernel is a value: what the caller does to the matrix later is not its own
        if gram.shape[0] != gram.shape[1]:
            raise DataError(f"a precomputed kernel must be a square matrix, got shape {tuple(gram.shape)}.")
        check_array("a precomputed kernel", gram, (None, None), kinds="fiu")
        some = [slice(i, i + ROWS) for i in range(0, len(gram), ROWS)]
        tolerance = 1e-6 * max(max(map(abs, torch.stack(gram[rows].aminmax()).tolist())) for rows in some)
        if not all(torch.allclose(gram[rows], gram[:, rows].T, rtol=1e-4, atol=tolerance) for rows in some):
            raise DataError("the precomputed kernel is not symmetric: gram[i, j] must equal gram[j, i].")
        object.__setattr__(self, "gram", gram)

    def declare(self) -> Formula:
        return Formula(Statistic.GIVEN)

    def _statistics(self, x: Tensor, z: Tensor) -> Tensor:
        rows, columns = self._numbers(x), self._numbers(z)
        return self.gram.to(x.device)[rows][:, columns].to(x.dtype)

    def _own_statistics(self, x: Tensor) -> Tensor:
        return self.gram.to(x.device).diagonal()[self._numbers(x)].to(x.dtype)

    @property
    def n_columns(self) -> int | None:
        return 1

    def fit(self, x: Tensor, generator: torch.Generator) -> Self:
        self._numbers(x)
        return self

    def _numbers(self, x: Tensor) -> Tensor:
        if x.shape[1] != self.n_columns:
            raise DataError(
                f"a precomputed kernel looks samples up by number, so its view has one column, not {x.shape[1]}. "
                "Give np.arange(n).reshape(-1, 1), and the whole matrix to Precomputed(gram)."
            )
        numbers = x[:, 0].round().long()
        if (numbers != x[:, 0]).any() or numbers.min() < 0 or numbers.max() >= len(self.gram):
            raise DataError(
                f"sample numbers must be whole and in 0 ... {len(self.gram) - 1} (the size of the precomputed "
                f"kernel), got {x.min().item():g} ... {x.max().item():g}."
            )
        return numbers
