"""kappa(x, z) between any samples x and fixed samples z: what can be prepared of z is prepared once."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from gramless.engine.backends import find_backend
from gramless.engine.device import Precision
from gramless.engine.fused_on_cpu import FusedOnCpu
from gramless.engine.fused_on_gpu import FusedOnGpu
from gramless.engine.limits import on_view
from gramless.network import Network, output_values
from gramless.views import Views
from gramless.views.arrays import as_tensor, numpy_dtype


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
    return kind(network, Z, dtype, device, precision)


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
