"""kappa(x, z) between any samples x and fixed samples z: what can be prepared of z is prepared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from gramless.engine.backends import dense_layers, find_backend
from gramless.engine.forms import Form, Plane, fine_enough, forms_of, share_planes
from gramless.engine.pair_statistics import PairStatistic
from gramless.engine.precision import Precision
from gramless.engine.program import Elementary, Sides
from gramless.engine.samples import SampleBlock, sample_block
from gramless.engine.statistics import StatisticColumns, prepare_columns
from gramless.errors import DataError
from gramless.network import Network, ViewKernel, forward
from gramless.views import Views


class Evaluator(Protocol):
    """Kernel values between a block of samples and the fixed ones, on the device that it was made for."""

    def values(self, X: Views) -> Tensor: ...  # (n, m)

    def elementary(self, X: Views) -> Tensor: ...  # (n_kernels, n, m)


def make_evaluator(
    network: Network, Z: Views, dtype: torch.dtype, device: torch.device, precision: Precision = Precision.FLOAT32
) -> Evaluator:
    """The fused evaluator where there is one, or the reference."""
    if find_backend(network.layers, dtype, device) is None:
        return ReferenceEvaluator(network, Z, dtype, device)
    return FusedEvaluator(network, Z, device, precision)


class ReferenceEvaluator:
    """Plain PyTorch: every elementary kernel by its own formula, then the layers, a chunk of pairs at a time."""

    def __init__(self, network: Network, Z: Views, dtype: torch.dtype, device: torch.device) -> None:
        self._network, self._dtype, self._device = network, dtype, device
        self._columns = {view: Z.tensor(view, dtype, device) for view in network.views}
        self._n_columns = len(Z)

    def values(self, X: Views) -> Tensor:
        return forward(self._network.layers, self.elementary(X)).mul_(self._network.scale)

    def elementary(self, X: Views) -> Tensor:
        rows = {view: X.tensor(view, self._dtype, self._device) for view in self._columns}
        inputs = self._network.inputs
        values = torch.empty(len(inputs), len(X), self._n_columns, dtype=self._dtype, device=self._device)
        for q, entry in enumerate(inputs):
            values[q] = on_view(entry, entry.kernel.pairwise, rows[entry.view], self._columns[entry.view])
        return values


@dataclass(frozen=True, eq=False)
class Program:
    """Which planes there are, how kernels follow from them, and the columns' part in it."""

    planes: list[Plane]
    elementary: Elementary
    columns: Sides


class FusedEvaluator:
    """Pair statistics view by view, then kernels, layers and activations in one pass over them.

    Per pair: the statistics' multiply-adds or minima, n_planes values written and read, and n_kernels n_units
    multiply-adds; nothing of size n_kernels n m or n_units n m is in memory.
    """

    def __init__(self, network: Network, Z: Views, device: torch.device, precision: Precision) -> None:
        self._inputs, self._scale, self._device, self._precision = network.inputs, network.scale, device, precision
        self._backend: Any = find_backend(network.layers, torch.float32, device)
        self._layers = dense_layers(network.layers, device)
        self._product_options = {"precision": precision.value} if device.type == "cuda" else {}
        self._n_columns = len(Z)
        self._columns: dict[str, SampleBlock] = {}
        for view in network.views:
            z = Z.tensor(view, torch.float32, device)
            self._columns[view] = sample_block(z, z.mean(0))
        self._check({view: block.extremes.tolist() for view, block in self._columns.items()}, self._columns)
        self._entries = [(entry, forms_of(entry.kernel)) for entry in network.inputs]
        self._programs: dict[tuple[PairStatistic, ...], Program] = {}
        self._prepared: dict[Plane, StatisticColumns] = {}

    def values(self, X: Views) -> Tensor:
        program, planes, rows = self._planes(X)
        output = torch.empty(planes.shape[1:], device=self._device)
        block = (planes, program.elementary, rows, program.columns)
        self._backend.evaluate(*block, self._layers, self._scale, output, **self._product_options)
        return output

    def elementary(self, X: Views) -> Tensor:
        program, planes, rows = self._planes(X)
        output = torch.empty(len(self._inputs), *planes.shape[1:], device=self._device)
        self._backend.elementary_values(planes, program.elementary, rows, program.columns, output)
        return output

    def _planes(self, X: Views) -> tuple[Program, Tensor, Sides]:
        """The statistics of all pairs, (n_planes, n, m), and the rows' numbers."""
        blocks = {
            view: sample_block(X.tensor(view, torch.float32, self._device), columns.centre)
            for view, columns in self._columns.items()
        }
        forms = self._exact_forms(blocks)
        program = self._program(forms)
        planes = torch.empty(len(program.planes), len(X), self._n_columns, device=self._device)
        for plane, (view, statistic) in zip(planes, program.planes, strict=True):
            if statistic.kernel is not None:
                entry = ViewKernel(view, statistic.kernel)
                plane.copy_(on_view(entry, statistic.kernel.pairwise, blocks[view].x, self._columns[view].x))
            else:
                self._prepare((view, statistic)).fill(plane, blocks[view])
        return program, planes, self._sides(forms, blocks)

    def _exact_forms(self, blocks: dict[str, SampleBlock]) -> list[Form]:
        """The cheapest forms that are exact on these rows, which are checked; a GPU is waited for once."""
        pairs = [(forms, blocks[entry.view], self._columns[entry.view]) for entry, forms in self._entries]
        fine = [forms[0].is_fine(rows, columns) for forms, rows, columns in pairs]
        asked = [verdict for verdict in fine if isinstance(verdict, Tensor)]
        told = torch.cat([block.extremes for block in blocks.values()] + [verdict[None] for verdict in asked]).tolist()
        self._check({view: told[2 * i : 2 * i + 2] for i, view in enumerate(blocks)}, blocks)
        verdicts = iter(told[2 * len(blocks) :])
        settled = [bool(next(verdicts)) if isinstance(verdict, Tensor) else verdict for verdict in fine]
        return [
            forms[0] if good else fine_enough(forms[1:], rows, columns)
            for good, (forms, rows, columns) in zip(settled, pairs, strict=True)
        ]

    def _prepare(self, plane: Plane) -> StatisticColumns:
        if plane not in self._prepared:
            view, statistic = plane
            self._prepared[plane] = prepare_columns(statistic, self._columns[view], self._backend, self._precision)
        return self._prepared[plane]

    def _program(self, forms: list[Form]) -> Program:
        """The program of these forms, which their statistics tell apart."""
        statistics = tuple(form.statistic for form in forms)
        if statistics in self._programs:
            return self._programs[statistics]
        planes, plane_of = share_planes(self._inputs, forms)
        elementary = Elementary(
            np.array([form.formula.operation for form in forms], dtype=np.int32),
            np.array(plane_of, dtype=np.int32),
            np.array([form.formula.exponent for form in forms], dtype=np.float32),
            np.array([form.slope for form in forms], dtype=np.float32),
        )
        made = self._programs[statistics] = Program(planes, elementary, self._sides(forms, self._columns))
        return made

    def _sides(self, forms: list[Form], blocks: dict[str, SampleBlock]) -> Sides:
        numbers = [form.numbers(blocks[entry.view]) for form, entry in zip(forms, self._inputs, strict=True)]
        return Sides(*(torch.stack(part) for part in zip(*numbers, strict=True)))

    def _check(self, extremes: dict[str, list[float]], blocks: dict[str, SampleBlock]) -> None:
        ranges = {view: (*extremes[view], block.x.shape[1], block.x.dtype) for view, block in blocks.items()}
        for entry in self._inputs:
            on_view(entry, entry.kernel.check_range, *ranges[entry.view])


def on_view(entry: ViewKernel, evaluate: Callable[..., Any], *arguments: Any) -> Any:
    """What goes wrong on a view is said with its name."""
    try:
        return evaluate(*arguments)
    except DataError as error:
        raise DataError(f"view {entry.view!r}: {error}") from error
