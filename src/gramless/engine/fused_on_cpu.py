"""The fused evaluator on the CPU: all of it is one pass of compiled code over the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
import torch
from torch import Tensor

from gramless.engine import cpu
from gramless.engine.device import Precision
from gramless.engine.forms import EXPONENT_ROUNDING, TERMS, Plane, numbers_of
from gramless.engine.fused import Fused, Program
from gramless.engine.limits import refuse_what_is_no_number
from gramless.engine.program import CODE_LEVELS, Term
from gramless.engine.samples import SampleBlock, block_of
from gramless.kernels import Statistic
from gramless.network import ViewKernel
from gramless.views import Views
from gramless.views.arrays import as_tensor, numpy_dtype


class FusedOnCpu(Fused):
    """Pair statistics, kernels, layers, activations and the projection in one pass.

    Per pair: the statistics' multiply-adds or minima, and n_kernels n_units multiply-adds; nothing of size
    n_planes n m, n_kernels n m or n_units n m is in memory. Where the rows' numbers follow from their sums, the same
    pass looks at the rows as well, and gives up where the cheapest forms are not exact, or a value may not be: one
    sample is one call of compiled code, and little Python.
    """

    def _prepare(self) -> None:
        self._number = numpy_dtype(self._dtype)
        self._packed_layers = cpu.pack_layers(self._layers, len(self._inputs), self._number)
        self._no_layers = cpu.no_layers(len(self._inputs), self._number)
        self._matrix: tuple[Tensor | None, np.ndarray] = None, np.empty(0)  # that was last projected by, and its panels
        self._panels: dict[int, np.ndarray] = {}
        self._sums: dict[Plane, tuple[cpu.PairSums, np.ndarray]] = {}
        self._packed: dict[Program, cpu.Packed] = {}
        limits = {view: (limits.low, limits.size) for view, limits in self._limits.items()}
        own = _own_numbers(self._inputs, self._cheapest, self._columns, limits)
        self._plain = None if own is None else self._pack(self._cheapest, own)

    def values(self, X: Views) -> Tensor:
        return self._evaluated(X, (len(X), self._n_columns), self._packed_layers)

    def projected(self, X: Views, matrix: Tensor) -> Tensor:
        kept, panels = self._matrix
        if kept is not matrix:
            panels = cpu.in_panels(matrix.numpy().T)
            self._matrix = matrix, panels
        return self._evaluated(X, (len(X), matrix.shape[1]), self._packed_layers, panels)

    def elementary(self, X: Views) -> Tensor:
        return self._evaluated(X, (len(self._inputs), len(X), self._n_columns), self._no_layers)

    def _evaluated(
        self, X: Views, shape: tuple[int, ...], layers: cpu.Layers, matrix: np.ndarray | None = None
    ) -> Tensor:
        out = np.empty(shape, self._number)
        rows = [X.array(view, self._number) for view in self._columns]
        if self._plain is None or not cpu.evaluate(self._plain, rows, None, layers, self._scale, out, matrix):
            program, operands, numbers = self._looked_at(rows)
            cpu.evaluate(program, operands, numbers, layers, self._scale, out, matrix)
        return torch.from_numpy(out)

    def _looked_at(self, rows: list[np.ndarray]) -> tuple[cpu.Packed, list[np.ndarray], np.ndarray]:
        """The program that is exact on these samples, which are checked; what it compares; the rows' numbers."""
        found = cpu.moments(rows)
        blocks = {
            view: block_of(as_tensor(x), moments, columns.centre)
            for (view, columns), x, moments in zip(self._columns.items(), rows, found, strict=True)
        }
        if not np.isfinite(found[:, 0]).all():
            refuse_what_is_no_number(blocks)
        for view, block in blocks.items():
            self._limits[view].check(*block.extremes.tolist())
        program = self._exact_program(blocks)
        if program not in self._packed:
            self._packed[program] = self._pack(program)
        operands = [
            blocks[view].operand(statistic)
            if statistic.kernel is None
            else self._given(view, statistic.kernel, blocks[view].x)
            for view, statistic in program.planes
        ]
        numbers = numbers_of(self._inputs, program.forms, blocks).numpy()
        return self._packed[program], [x.contiguous().numpy() for x in operands], numbers

    def _pack(self, program: Program, own: cpu.Own | None = None) -> cpu.Packed:
        """With `own`, rows are compared as they are: all planes of a view have one operand."""
        views = list(self._columns)
        sums = [
            self._sums_of(plane)._replace(source=number if own is None else views.index(plane[0]))
            for number, plane in enumerate(program.planes)
        ]
        kernels = cpu.pack_kernels(program.elementary, program.columns, self._number)
        return cpu.Packed(cpu.pack_statistics(sums), kernels, own or cpu.no_kernels(self._number))

    def _sums_of(self, plane: Plane) -> cpu.PairSums:
        """What is summed up between rows and these columns, which are kept as compiled code reads them.

        Sums of minima may be of 8-bit codes: step times the sum of min(k, k'), k = round(x / step) in 0 ... 255. The
        step is the largest value of the columns over 255. A larger value in a row is cut there, which changes no
        minimum. Each minimum is off by half a step at most, and rounding up and down evens out over features.
        """
        view, statistic = plane
        if statistic.kernel is not None:
            return cpu.PairSums(0, Term.GIVEN, self._n_columns)
        if plane not in self._sums:
            z, term, step = self._columns[view].operand(statistic), TERMS[statistic.statistic], 0.0
            if term is Term.MINIMUM and self._precision is Precision.CODES and z.dtype == torch.float32:
                step = max(float(z.max()) / CODE_LEVELS, torch.finfo(torch.float32).tiny)
                kept, term = cpu.encode(z, step), Term.MINIMUM_OF_CODES
            else:  # statistics of the same numbers share their panels, which halves what one sample reads
                known = self._panels.get(z.data_ptr())
                kept = self._panels.setdefault(z.data_ptr(), cpu.in_panels(z.numpy())) if known is None else known
            # Of several threads that come here at once the first one's columns are kept, and all use them.
            self._sums.setdefault(plane, (cpu.PairSums(0, term, z.shape[1], kept.ctypes.data, step), kept))
        return self._sums[plane][0]


def _own_numbers(
    inputs: Sequence[ViewKernel],
    program: Program,
    columns: Mapping[str, SampleBlock],
    limits: Mapping[str, tuple[float, float]],
) -> cpu.Own | None:
    """How rows' numbers follow from their moments; None where kernels ask for more of them.

    limits : of the values of each view, the least and the largest absolute one
    """
    shifts = program.columns[0]
    views, kinds = list(columns), {Statistic.MINIMUM: 0, Statistic.INNER_PRODUCT: 1}
    source, numbers = [], []
    for entry, form, shift in zip(inputs, program.forms, shifts.abs().amax(1).tolist(), strict=True):
        formula, statistic = form.formula, form.statistic
        asks = form.of_products or formula.asks_for_own
        beyond = statistic.kernel is not None or statistic.features is not None or formula.size or formula.unit
        if beyond or (asks and statistic.statistic not in kinds):
            return None
        source.append((views.index(entry.view), kinds.get(statistic.statistic, 0)))
        a, b = (formula.slope, 0.0) if form.of_products else (0.0, formula.offset / 2)
        largest = EXPONENT_ROUNDING / 2 / formula.steepness - shift if form.of_products else inf
        numbers.append((a, b, formula.cosine, formula.slope, formula.offset, largest))
    dtype = shifts.numpy().dtype
    a, b, cosine, slope, offset, largest = np.array(numbers, float).T.astype(dtype)
    widths = np.array([block.x.shape[1] for block in columns.values()], np.int64)
    with np.errstate(over="ignore"):  # a bound that the type does not hold is none
        bounds = np.array([limits[view] for view in views]).astype(dtype)
    return cpu.Own(np.array(source, np.int64), a, b, cosine > 0, slope, offset, largest, widths, bounds)
