"""Numbers to be predicted: read from a caller, brought to one scale, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array as checked_array
from torch import Tensor

from gramless.blocks import Block
from gramless.errors import DataError
from gramless.support.checks import check_array
from gramless.views.arrays import as_block, dense, refuse_masked


@dataclass(frozen=True, eq=False)
class Numbers:
    """Targets (n, n_targets) that a network learns from as they are: numbers, not labels, whatever they look like."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)


def as_numbers(y: Any) -> np.ndarray:
    """A caller's targets as float64: (n,) or (n, n_targets)."""
    if isinstance(y, Tensor):
        y = dense(as_block("y", y if y.ndim > 1 else y[:, None] if y.ndim else y))
        y = y[:, 0] if y.shape[1] == 1 else y
    if sparse.issparse(y):
        raise DataError("y is sparse: give the numbers to be predicted as an array, (n,) or (n, n_targets).")
    refuse_masked("y", y)
    kind = np.asarray(y).dtype
    if kind.names is not None or kind.kind in "cVMm":
        why = " Complex data not supported." if kind.kind == "c" else ""  # the words that scikit-learn's checks want
        raise DataError(f"y is of type {kind}: give real numbers, (n,) or (n, n_targets).{why}")
    try:
        found = checked_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise DataError(f"y holds texts, {error}: give numbers, or learn classes with a classifier.") from error
    if found.ndim not in (1, 2):
        raise DataError(f"y has the shape {found.shape}: give one number per sample (n,), or several (n, n_targets).")
    return found


def block_numbers(block: Block) -> np.ndarray:
    """The targets of a block; what is wrong with them is told with its place."""
    try:
        return as_numbers(block.labels)
    except ValueError as error:
        raise DataError(f"the block that starts at row {block.start:,}: {error}") from error


@dataclass(frozen=True, eq=False)
class TargetScale:
    """Mean and spread of every target; a target that does not vary has the spread 1.

    single : whether targets come as (n,)
    """

    mean: np.ndarray  # (n_targets,)
    spread: np.ndarray  # (n_targets,)
    single: bool

    def __post_init__(self) -> None:
        check_array("the means of targets", self.mean, (None,))
        check_array("the spreads of targets", self.spread, self.mean.shape, least=0.0)
        if len(self.mean) < 1 or (self.single and len(self.mean) != 1):
            raise DataError(
                f"there is one target, or there are several, got {len(self.mean)} and single={self.single}."
            )

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray) -> TargetScale:
        columns = y.reshape(len(y), -1)
        shares = weights / weights.sum()
        size = np.abs(columns).max(0)
        size = np.where(size > 0, size, 1.0)
        unit = columns / size  # so that no square overflows
        mean = shares @ unit
        spread = np.sqrt(shares @ np.square(unit - mean)) * size
        varied = (columns.min(0) < columns.max(0)) & (spread > 0)
        return cls(np.where(varied, mean * size, columns[0]), np.where(varied, spread, 1.0), y.ndim == 1)

    @property
    def n_targets(self) -> int:
        return len(self.mean)

    def standard(self, y: np.ndarray) -> np.ndarray:
        """Of mean 0 and spread 1: (n, n_targets)."""
        columns = y.reshape(len(y), -1)
        if columns.shape[1] != self.n_targets:
            raise DataError(f"got {columns.shape[1]} targets per sample, and {self.n_targets} before.")
        return columns / self.spread - self.mean / self.spread

    def means(self, standard: np.ndarray) -> np.ndarray:
        """From standard numbers (n, n_targets) to the caller's, (n,) or (n, n_targets)."""
        return self._shaped(standard * self.spread + self.mean)

    def deviations(self, standard: np.ndarray) -> np.ndarray:
        """The same for standard deviations."""
        return self._shaped(standard * self.spread)

    def _shaped(self, numbers: np.ndarray) -> np.ndarray:
        return numbers[:, 0] if self.single else numbers
