"""Kernel matrices and projected responses to landmarks, block by block, as a plan says.

Values that are no numbers are refused where they would leave the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite

import torch
from torch import Tensor

from gramless.engine.evaluator import Evaluator
from gramless.engine.plan import Plan
from gramless.engine.streaming import stream_rows
from gramless.errors import DataError
from gramless.support.progress import ProgressBar
from gramless.views import Views

EvaluatorFor = Callable[[Views], Evaluator]
"""An evaluator for fixed columns."""


class ColumnTiles:
    """The columns of a plan, tile by tile, each with its evaluator; kept from one use to the next where they fit."""

    def __init__(self, plan: Plan, Z: Views, evaluator_for: EvaluatorFor) -> None:
        self.slices = list(plan.column_blocks())
        self._keep, self._z, self._evaluator_for = plan.keep_columns, Z, evaluator_for
        self._kept: dict[int, Evaluator] = {}

    def __getitem__(self, tile: int) -> Evaluator:
        if tile in self._kept:
            return self._kept[tile]
        made = self._evaluator_for(self._z[self.slices[tile]])
        if self._keep:
            self._kept[tile] = made
        return made


def kernel_matrix(
    plan: Plan, X: Views, Z: Views, evaluator_for: EvaluatorFor, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """kappa(X, Z), (n, m), where the caller's data lies; a symmetric plan computes each pair of X = Z once."""
    tiles = ColumnTiles(plan, Z, evaluator_for)
    output = torch.empty(plan.n_rows, plan.n_columns, dtype=dtype, device=X.torch_device or "cpu")
    with ProgressBar("kernel values", output.numel()) as progress:
        for rows, block in stream_rows(X, plan.row_blocks(), dtype, device):
            for tile, columns in enumerate(tiles.slices):
                if plan.symmetric and columns.start < rows.start:
                    continue
                values = tiles[tile].values(block)
                mirrored = plan.symmetric and columns != rows
                if plan.symmetric and not mirrored:
                    values = (values + values.T) / 2  # rounding need not be symmetric; what comes out is
                output[rows, columns] = values.to(output.device)
                if mirrored:
                    output[columns, rows] = output[rows, columns].T
                progress.advance(values.numel() * (2 if mirrored else 1))
    return output


def projected_blocks(
    plan: Plan,
    X: Views,
    Z: Views,
    evaluator_for: EvaluatorFor,
    matrix: Tensor,
    dtype: torch.dtype,
    device: torch.device,
) -> Iterator[tuple[slice, Tensor]]:
    """(rows, kappa(X[rows], Z) matrix) block by block, on the device."""
    tiles = ColumnTiles(plan, Z, evaluator_for)
    for rows, block in stream_rows(X, plan.row_blocks(), dtype, device):
        if len(tiles.slices) == 1:
            yield rows, tiles[0].projected(block, matrix)
            continue
        responses = torch.empty(len(block), plan.n_columns, dtype=dtype, device=device)
        for tile, columns in enumerate(tiles.slices):
            responses[:, columns] = tiles[tile].values(block)
        yield rows, responses @ matrix


FEW = 4_096  # values whose sum is looked at first, by NumPy: PyTorch would let go of Python's lock for it


def finite(values: Tensor) -> Tensor:
    """The same values, after one pass over them; NaN and infinity are refused."""
    if values.numel() and not (values.numel() <= FEW and values.is_cpu and isfinite(values.numpy().sum())):
        _refuse(torch.stack(values.aminmax()))  # NaN if any value is
    return values


class Overflow:
    """The same for values that come block by block, on any device: none of them is waited for before the end."""

    def __init__(self) -> None:
        self._extremes: list[Tensor] = []

    def watch(self, values: Tensor) -> None:
        self._extremes += values.aminmax()

    def refuse(self) -> None:
        _refuse(torch.stack(self._extremes))


def _refuse(extremes: Tensor) -> None:
    if not all(isfinite(value) for value in extremes.tolist()):
        raise DataError(
            f"the network overflows on these samples: its values reach infinity or NaN in {extremes.dtype}. Use "
            "kernels normalised to a unit diagonal (normalize=True), smaller gains or weights, an activation that "
            "grows more slowly, or features of smaller values; an activation of your own must return numbers."
        )
