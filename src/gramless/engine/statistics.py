"""One statistic of all pairs of a block, from columns that are prepared once."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from gramless.engine import cpu
from gramless.engine.device import Precision, products_on_gpu
from gramless.engine.featurewise import FEATUREWISE
from gramless.engine.program import CODE_LEVELS
from gramless.engine.samples import PairStatistic, SampleBlock
from gramless.kernels import Statistic


class StatisticColumns(Protocol):
    def fill(self, plane: Tensor, rows: SampleBlock) -> None:
        """Write the statistic of every pair, (n, m)."""


class InnerProducts:
    """<x, z> of samples, or of what they are turned into: one matrix product."""

    def __init__(self, columns: SampleBlock, statistic: PairStatistic, precision: Precision) -> None:
        self._statistic, self._precision = statistic, precision
        self._transposed = self._operand(columns).T

    def fill(self, plane: Tensor, rows: SampleBlock) -> None:
        x = self._operand(rows)
        if self._precision is Precision.BF16:
            plane.copy_(x @ self._transposed)
            return
        with products_on_gpu(self._precision):
            torch.mm(x, self._transposed, out=plane)

    def _operand(self, block: SampleBlock) -> Tensor:
        x = block.operand(self._statistic)
        return x.bfloat16() if self._precision is Precision.BF16 else x


class FeaturewiseColumns:
    """A sum over features of a function of two numbers: the backend's own loops."""

    def __init__(self, compute: Any, columns: SampleBlock) -> None:
        self._compute, self._z = compute, columns.x

    def fill(self, plane: Tensor, rows: SampleBlock) -> None:
        self._compute(rows.x, self._z, plane)


class HostColumns:
    """Columns as the evaluator on the CPU takes them, which sums up all statistics itself, in one pass.

    Sums of minima may be of 8-bit codes: step times the sum of min(k, k'), k = round(x / step) in 0 ... 255. The step
    is the largest value of the columns over 255. A larger value in a row is cut there, which changes no minimum. Each
    minimum is off by half a step at most, and rounding up and down evens out over features.
    """

    def __init__(
        self, columns: SampleBlock, statistic: PairStatistic, precision: Precision, panels: dict[int, np.ndarray]
    ) -> None:
        """panels : of the operands that were met before, by their addresses; statistics of the same numbers share them,
        which halves what one sample reads"""
        self._term, self._step = TERMS[statistic.statistic], 0.0
        z = columns.operand(statistic)
        self._width = z.shape[1]
        coded = precision is Precision.CODES and columns.x.dtype == torch.float32
        if statistic.statistic is Statistic.MINIMUM and coded:
            self._step = max(float(columns.x.max()) / CODE_LEVELS, torch.finfo(torch.float32).tiny)
            self._z, self._term = cpu.encode(columns.x, self._step), cpu.Term.MINIMUM_OF_CODES
        else:
            if z.data_ptr() not in panels:
                panels[z.data_ptr()] = cpu.in_panels(z.numpy())
            self._z = panels[z.data_ptr()]

    def sums(self, source: int) -> cpu.PairSums:
        """source : the number of the rows, or of what the statistic turns them into, among a program's operands"""
        return cpu.PairSums(source, self._term, self._width, self._z.ctypes.data, self._step)


TERMS = {
    Statistic.INNER_PRODUCT: cpu.Term.PRODUCT,
    Statistic.MINIMUM: cpu.Term.MINIMUM,
    Statistic.CITY_BLOCK: cpu.Term.CITY_BLOCK,
    Statistic.CHI_SQUARE: cpu.Term.CHI_SQUARE,
}


def prepare_columns(
    statistic: PairStatistic, columns: SampleBlock, backend: Any, precision: Precision
) -> StatisticColumns:
    """On a GPU."""
    if statistic.statistic is Statistic.INNER_PRODUCT:
        return InnerProducts(columns, statistic, precision)
    return FeaturewiseColumns(getattr(backend, FEATUREWISE[statistic.statistic].sums), columns)
