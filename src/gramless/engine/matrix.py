"""Kernel matrices and projected responses to landmarks, block by block, as a plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from gramless.engine.evaluator import Evaluator
from gramless.engine.plan import Plan
from gramless.engine.streaming import stream_rows
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
