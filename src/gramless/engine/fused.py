"""What the fused evaluators on CPU and GPU share: which statistics are computed, and how kernels follow from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gramless.engine.backends import dense_layers
from gramless.engine.device import Precision
from gramless.engine.forms import Form, Plane, fine_enough, forms_of, numbers_of, share_planes
from gramless.engine.limits import Limits, on_view
from gramless.engine.program import Elementary
from gramless.engine.samples import PairStatistic, SampleBlock, sample_block
from gramless.kernels import Kernel
from gramless.network import Network, ViewKernel
from gramless.views import Views
from gramless.views.arrays import numpy_dtype


@dataclass(frozen=True, eq=False)
class Program:
    """Which planes there are, how kernels follow from them, and the columns' part in it."""

    forms: list[Form]
    planes: list[Plane]
    elementary: Elementary
    columns: Tensor


class Fused(ABC):
    """Columns, what their kernels allow, and programs for samples of all kinds."""

    def __init__(
        self, network: Network, Z: Views, dtype: torch.dtype, device: torch.device, precision: Precision
    ) -> None:
        self._inputs, self._scale, self._device, self._precision = network.inputs, network.scale, device, precision
        self._dtype, self._layers = dtype, dense_layers(network.layers, device, dtype)
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
        columns = numbers_of(self._inputs, forms, self._columns)
        made = self._programs[statistics] = Program(forms, planes, elementary, columns)
        return made

    def _given(self, view: str, kernel: Kernel, x: Tensor) -> Tensor:
        """Values (n, m) of a kernel by its own function."""
        return on_view(ViewKernel(view, kernel), kernel.pairwise, x, self._columns[view].x)
