"""kappa(x, z) between any samples x and fixed samples z: what can be prepared of z is prepared once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from threading import Lock
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from gramless.engine import cpu
from gramless.engine.backends import dense_layers, find_backend
from gramless.engine.device import Precision, settle
from gramless.engine.forms import Form, Plane, fine_enough, forms_of, numbers_of, own_numbers, share_planes
from gramless.engine.program import Elementary, Sides
from gramless.engine.samples import PairStatistic, SampleBlock, block_of, sample_block
from gramless.engine.statistics import HostColumns, StatisticColumns, prepare_columns
from gramless.errors import DataError
from gramless.kernels import Domain, Kernel
from gramless.network import Network, ViewKernel, output_values
from gramless.views import Views
from gramless.views.arrays import as_tensor, missing_rows, numpy_dtype


class Evaluator(Protocol):
    """Kernel values between a block of samples and the fixed ones, on the device that it was made for."""

    def values(self, X: Views) -> Tensor: ...  # (n, m)

    def projected(self, X: Views, matrix: Tensor) -> Tensor: ...  # (n, n_components), values times a matrix

    def elementary(self, X: Views) -> Tensor: ...  # (n_kernels, n, m)


def make_evaluator(
    network: Network, Z: Views, dtype: torch.dtype, device: torch.device, precision: Precision = Precision.FLOAT32
) -> Evaluator:
    """The fused evaluator where there is one, or the reference."""
    if find_backend(network.layers, dtype, device) is None:
        return ReferenceEvaluator(network, Z, dtype, device)
    kind = FusedOnCpu if device.type == "cpu" else FusedOnGpu
    return kind(network, Z, device, precision, dtype)


class ReferenceEvaluator:
    """Plain PyTorch: every elementary kernel by its own formula, then the layers, a chunk of pairs at a time."""

    def __init__(self, network: Network, Z: Views, dtype: torch.dtype, device: torch.device) -> None:
        self._network, self._dtype, self._device = network, dtype, device
        self._columns = {view: Z.tensor(view, dtype, device) for view in network.views}
        self._n_columns = len(Z)

    def values(self, X: Views) -> Tensor:
        return output_values(self._network.layers, self.elementary(X)).mul_(self._network.scale)

    def projected(self, X: Views, matrix: Tensor) -> Tensor:
        return self.values(X) @ matrix

    def elementary(self, X: Views) -> Tensor:
        if self._device.type == "cpu":
            rows = {view: as_tensor(X.array(view, numpy_dtype(self._dtype))) for view in self._columns}
        else:
            rows = {view: X.tensor(view, self._dtype, self._device) for view in self._columns}
        inputs = self._network.inputs
        values = torch.empty(len(inputs), len(X), self._n_columns, dtype=self._dtype, device=self._device)
        for q, entry in enumerate(inputs):
            values[q] = on_view(entry, entry.kernel.pairwise, rows[entry.view], self._columns[entry.view])
        return values


@dataclass(frozen=True, eq=False)
class Program:
    """Which planes there are, how kernels follow from them, and the columns' part in it."""

    forms: list[Form]
    planes: list[Plane]
    elementary: Elementary
    columns: Sides


class _Fused(ABC):
    """What the fused evaluators share: columns, checks, and programs for samples of all kinds."""

    def __init__(
        self, network: Network, Z: Views, device: torch.device, precision: Precision, dtype: torch.dtype = torch.float32
    ) -> None:
        self._inputs, self._scale, self._device, self._precision = network.inputs, network.scale, device, precision
        self._dtype, self._layers = dtype, dense_layers(network.layers, device, dtype)
        self._backend: Any = find_backend(network.layers, dtype, device)
        self._n_columns = len(Z)
        self._columns: dict[str, SampleBlock] = {}
        self._limits: dict[str, Limits] = {}
        for view in network.views:
            z = Z.tensor(view, dtype, device)
            self._columns[view] = sample_block(z, z.mean(0))
            self._limits[view] = Limits.of([entry for entry in self._inputs if entry.view == view], z)
            self._limits[view].check(*self._columns[view].extremes.tolist())
        self._forms = [forms_of(entry.kernel) for entry in network.inputs]
        self._programs: dict[tuple[PairStatistic, ...], Program] = {}
        self._cheapest = self._program([forms[0] for forms in self._forms])
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """What most samples will need."""

    def _exact_program(self, blocks: dict[str, SampleBlock]) -> Program:
        """In the cheapest forms that are exact on these samples."""
        return self._program(
            [
                fine_enough(forms, blocks[entry.view], self._columns[entry.view])
                for entry, forms in zip(self._inputs, self._forms, strict=True)
            ]
        )

    def _program(self, forms: list[Form]) -> Program:
        """The program of these forms, which their statistics tell apart."""
        statistics = tuple(form.statistic for form in forms)
        if statistics in self._programs:
            return self._programs[statistics]
        planes, plane_of = share_planes(self._inputs, forms)
        elementary = Elementary(
            np.array([form.formula.operation for form in forms], dtype=np.int32),
            np.array(plane_of, dtype=np.int32),
            np.array([form.formula.exponent for form in forms], dtype=numpy_dtype(self._dtype)),
            np.array([form.slope for form in forms], dtype=numpy_dtype(self._dtype)),
        )
        columns = Sides(*numbers_of(self._inputs, forms, self._columns))
        made = self._programs[statistics] = Program(forms, planes, elementary, columns)
        return made

    def _given(self, view: str, kernel: Kernel, x: Tensor) -> Tensor:
        """Values (n, m) of a kernel by its own function."""
        return on_view(ViewKernel(view, kernel), kernel.pairwise, x, self._columns[view].x)


class FusedOnCpu(_Fused):
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
        self._panels: tuple[Tensor | None, np.ndarray] = None, np.empty(0)  # of the matrix that was last projected by
        self._column_panels: dict[int, np.ndarray] = {}
        self._host_columns: dict[Plane, HostColumns] = {}
        self._packed: dict[Program, cpu.Packed] = {}
        limits = {view: (limits.low, limits.size) for view, limits in self._limits.items()}
        own = own_numbers(self._inputs, self._cheapest.forms, self._columns, self._cheapest.columns.shift, limits)
        self._plain = None if own is None else self._pack(self._cheapest, own)

    def values(self, X: Views) -> Tensor:
        return self._evaluated(X, (len(X), self._n_columns), self._packed_layers)

    def projected(self, X: Views, matrix: Tensor) -> Tensor:
        kept, panels = self._panels
        if kept is not matrix:
            panels = cpu.in_panels(matrix.numpy().T)
            self._panels = matrix, panels
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
        sums = []
        for number, (view, statistic) in enumerate(program.planes):
            source = number if own is None else views.index(view)
            if statistic.kernel is not None:
                sums.append(cpu.PairSums(source, cpu.Term.GIVEN, self._n_columns))
                continue
            columns = self._host_columns.get((view, statistic))
            if columns is None:
                columns = HostColumns(self._columns[view], statistic, self._precision, self._column_panels)
                self._host_columns[view, statistic] = columns
            sums.append(columns.sums(source))
        kernels = cpu.pack_kernels(program.elementary, program.columns, self._number)
        return cpu.Packed(cpu.pack_statistics(sums), kernels, own or cpu.no_kernels(self._number))


class FusedOnGpu(_Fused):
    """Pair statistics view by view, then kernels, layers and activations in one pass over them.

    Per pair: as above, and n_planes values written and read. What is kept is there before it is used, since blocks are
    computed on streams of their own.
    """

    def _prepare(self) -> None:
        self._prepared: dict[Plane, StatisticColumns] = {}
        self._turn = Lock()
        self._settled(self._cheapest)

    def values(self, X: Views) -> Tensor:
        program, planes, rows = self._planes(X)
        output = torch.empty(planes.shape[1:], device=self._device)
        block = (planes, program.elementary, rows, program.columns)
        self._backend.evaluate(*block, self._layers, self._scale, output, precision=self._precision.value)
        return output

    def projected(self, X: Views, matrix: Tensor) -> Tensor:
        return self.values(X) @ matrix

    def elementary(self, X: Views) -> Tensor:
        program, planes, rows = self._planes(X)
        output = torch.empty(len(self._inputs), *planes.shape[1:], device=self._device)
        self._backend.elementary_values(planes, program.elementary, rows, program.columns, output)
        return output

    def _planes(self, X: Views) -> tuple[Program, Tensor, Sides]:
        """The statistics of all pairs, (n_planes, n, m), and the rows' numbers."""
        blocks = {
            view: sample_block(X.tensor(view, self._dtype, self._device), columns.centre)
            for view, columns in self._columns.items()
        }
        program = self._checked_program(blocks)
        planes = torch.empty(len(program.planes), len(X), self._n_columns, device=self._device)
        for plane, (view, statistic) in zip(planes, program.planes, strict=True):
            if statistic.kernel is not None:
                plane.copy_(self._given(view, statistic.kernel, blocks[view].x))
            else:
                self._prepared[view, statistic].fill(plane, blocks[view])
        return program, planes, Sides(*numbers_of(self._inputs, program.forms, blocks))

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
            if statistic.kernel is None and (view, statistic) not in self._prepared:
                columns = prepare_columns(statistic, self._columns[view], self._backend, self._precision)
                self._prepared[view, statistic] = columns
        settle(self._device)
        return program


@dataclass(frozen=True)
class Limits:
    """What the kernels of a view allow its values to be; looked up one by one only where some are not."""

    entries: list[ViewKernel]
    low: float
    size: float
    width: int
    dtype: torch.dtype

    @classmethod
    def of(cls, entries: list[ViewKernel], z: Tensor) -> Limits:
        signed = all(entry.kernel.domain is Domain.REAL for entry in entries)
        size = min(entry.kernel.largest(z.shape[1], z.dtype) for entry in entries)
        return cls(entries, -np.inf if signed else 0.0, size, z.shape[1], z.dtype)

    def check(self, low: float, high: float) -> None:
        if low < self.low or not max(-low, high) <= self.size:
            for entry in self.entries:
                on_view(entry, entry.kernel.check_range, low, high, self.width, self.dtype)


def refuse_what_is_no_number(blocks: Mapping[str, SampleBlock]) -> None:
    """NaN and infinity, which were not there when views were made of the caller's memory."""
    for view, block in blocks.items():
        rows = missing_rows(view, block.x, 0)
        if rows is not None:
            raise DataError(
                f"view {view!r} contains NaN in all columns of row {int(rows.argmax())}, and did not when checked."
            )


def on_view(entry: ViewKernel, evaluate: Callable[..., Any], *arguments: Any) -> Any:
    """What goes wrong on a view is said with its name."""
    try:
        return evaluate(*arguments)
    except DataError as error:
        raise DataError(f"view {entry.view!r}: {error}") from error
