"""The fused evaluator on a GPU: statistics to memory, and one pass over them."""

from __future__ import annotations

from math import isfinite
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from gramless.engine.backends import find_backend
from gramless.engine.device import Precision, products_on_gpu, settle
from gramless.engine.forms import TERMS, Plane, numbers_of
from gramless.engine.fused import Fused, Program
from gramless.engine.limits import refuse_what_is_no_number
from gramless.engine.program import Elementary
from gramless.engine.samples import PairStatistic, SampleBlock, sample_block
from gramless.kernels import Statistic
from gramless.views import Views


class FusedOnGpu(Fused):
    """Pair statistics view by view, then kernels, layers and activations in one pass over them.

    Per pair: the statistics' multiply-adds or minima, n_planes values written and read, and n_kernels n_units
    multiply-adds. What is kept is there before it is used, since blocks are
    computed on streams of their own.
    """

    def _prepare(self) -> None:
        self._backend: Any = find_backend((), self._dtype, self._device)
        self._transposed: dict[Plane, Tensor] = {}  # columns whose inner products are taken
        self._turn = Lock()
        self._settled(self._cheapest)

    def values(self, X: Views) -> Tensor:
        return self._backend.evaluate(*self._block(X), self._layers, self._scale, self._precision.value)

    def projected(self, X: Views, matrix: Tensor) -> Tensor:
        return self.values(X) @ matrix

    def elementary(self, X: Views) -> Tensor:
        return self._backend.elementary_values(*self._block(X))

    def _block(self, X: Views) -> tuple[Tensor, Elementary, Tensor, Tensor]:
        """The statistics of all pairs, (n_planes, n, m), kernels of them, and the numbers of rows and columns."""
        blocks = {
            view: sample_block(X.tensor(view, self._dtype, self._device), columns.centre)
            for view, columns in self._columns.items()
        }
        program = self._checked_program(blocks)
        planes = torch.empty(len(program.planes), len(X), self._n_columns, device=self._device)
        for plane, (view, statistic) in zip(planes, program.planes, strict=True):
            self._fill(plane, view, statistic, blocks[view])
        return planes, program.elementary, numbers_of(self._inputs, program.forms, blocks), program.columns

    def _fill(self, plane: Tensor, view: str, statistic: PairStatistic, rows: SampleBlock) -> None:
        """Write a statistic of every pair: (n, m)."""
        if statistic.kernel is not None:
            plane.copy_(self._given(view, statistic.kernel, rows.x))
        elif statistic.statistic is not Statistic.INNER_PRODUCT:
            self._backend.feature_sums(TERMS[statistic.statistic], rows.x, self._columns[view].x, plane)
        elif self._precision is Precision.BF16:
            plane.copy_(rows.operand(statistic).bfloat16() @ self._transposed[view, statistic])
        else:
            with products_on_gpu(self._precision):
                torch.mm(rows.operand(statistic), self._transposed[view, statistic], out=plane)

    def _checked_program(self, blocks: dict[str, SampleBlock]) -> Program:
        """The exact program of samples within the kernels' limits; the device is waited for once, not per kernel."""
        pairs = [(blocks[entry.view], self._columns[entry.view]) for entry in self._inputs]
        fine = [forms[0].is_fine(*pair) for forms, pair in zip(self._forms, pairs, strict=True)]
        asked = [verdict[None] for verdict in fine if isinstance(verdict, Tensor)]
        told = torch.cat([block.extremes for block in blocks.values()] + asked).tolist()
        if not all(map(isfinite, told)):
            refuse_what_is_no_number(blocks)
        for number, view in enumerate(blocks):
            self._limits[view].check(*told[2 * number : 2 * number + 2])
        verdicts = iter(told[2 * len(blocks) :])
        if all(next(verdicts) if isinstance(verdict, Tensor) else verdict for verdict in fine):
            return self._cheapest
        with self._turn:
            return self._settled(self._exact_program(blocks))

    def _settled(self, program: Program) -> Program:
        """With what its planes need of the columns."""
        for view, statistic in program.planes:
            if statistic.statistic is Statistic.INNER_PRODUCT and (view, statistic) not in self._transposed:
                z = self._columns[view].operand(statistic)
                self._transposed[view, statistic] = (z.bfloat16() if self._precision is Precision.BF16 else z).T
        settle(self._device)
        return program
