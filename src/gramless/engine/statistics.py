"""One statistic of all pairs of a block, from columns that are prepared once."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor

from gramless.engine.featurewise import FEATUREWISE
from gramless.engine.pair_statistics import PairStatistic
from gramless.engine.precision import Precision, products_on_gpu
from gramless.engine.program import CODE_LEVELS
from gramless.engine.samples import SampleBlock
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
        with products_on_gpu(self._precision) if x.is_cuda else nullcontext():
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


class CodedMinima:
    """Sums of minima on 8-bit codes: step times the sum of min(k, k'), k = round(x / step) in 0 ... 255.

    The step is the largest value of the columns over 255. A larger value in a row is cut there, which changes no
    minimum. Each minimum is off by half a step at most, and rounding up and down evens out over features.
    """

    def __init__(self, columns: SampleBlock, backend: Any) -> None:
        self._backend = backend
        self._step = max(float(columns.x.max()) / CODE_LEVELS, torch.finfo(torch.float32).tiny)
        self._codes = backend.encode(columns.x, self._step)

    def fill(self, plane: Tensor, rows: SampleBlock) -> None:
        sums = torch.empty(plane.shape, dtype=torch.int32)
        self._backend.minimum_sums_of_codes(self._backend.encode(rows.x, self._step), self._codes, sums)
        torch.mul(sums, self._step, out=plane)


def prepare_columns(
    statistic: PairStatistic, columns: SampleBlock, backend: Any, precision: Precision
) -> StatisticColumns:
    if statistic.statistic is Statistic.INNER_PRODUCT:
        return InnerProducts(columns, statistic, precision)
    if statistic.statistic is Statistic.MINIMUM and precision is Precision.CODES:
        return CodedMinima(columns, backend)
    return FeaturewiseColumns(getattr(backend, FEATUREWISE[statistic.statistic].sums), columns)
