"""A deep kernel network as a value: call it on two sets of samples and get kernel values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch
from torch import Tensor

from gramless.budget import require, resolve_budget, row_blocks
from gramless.dkn.layer import Layer, forward, unit_values
from gramless.errors import DataError
from gramless.kernels import Kernel
from gramless.progress import ProgressBar
from gramless.views import Layout, Views, is_multiview, side_by_side

CPU_TILE_BYTES = 64 << 20
GPU_TILE_BYTES = 4 << 30
SCRATCH_VALUES = 4  # per pair, besides the elementary kernels: temporaries of one kernel, and the output


def choose_device(device: str, X: Views) -> torch.device:
    """Where to compute: as told, or where the caller's tensors are, or on the GPU if there is one."""
    if device != "auto":
        return torch.device(device)
    if X.torch_device is not None:
        return X.torch_device
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class ViewKernel:
    """An elementary kernel on one view: an input of the network."""

    view: str
    kernel: Kernel


@dataclass(frozen=True, eq=False)
class DeepKernel:
    """kappa(x, z) = scale g_L(W_L ... g_2(W_2 k(x, z))) over elementary kernels k: an immutable value.

    `kappa(X, Z)` takes Views, anything that Views takes, or one array with all views side by side, so that
    `SVC(kernel=kappa)` works. Arrays give arrays and tensors give tensors. Kernel values are computed tile by tile
    within the memory budget, in float64 if any view needs it and in float32 otherwise.
    """

    inputs: tuple[ViewKernel, ...]
    layers: tuple[Layer, ...]
    layout: Layout
    scale: float = 1.0
    device: str = "auto"
    memory_budget: int | str | None = None

    def __post_init__(self) -> None:
        widths = [len(self.inputs), *(layer.n_units for layer in self.layers)]
        needed = [layer.n_inputs for layer in self.layers]
        if not self.layers or widths[:-1] != needed or widths[-1] != 1:
            raise DataError(
                f"layers do not fit together: {widths[0]} kernels, then layers with {needed} inputs and "
                f"{widths[1:]} units. Each layer takes what the one before gives, and the last has one unit."
            )

    def __deepcopy__(self, memo: dict) -> DeepKernel:
        return self  # immutable; what was learned survives scikit-learn's clone

    def __call__(self, X: Any, Z: Any = None) -> Any:
        """Kernel values (n, m); those of X with itself if Z is not given.

        Two single samples, 1-D arrays with all views side by side, give one number: scikit-learn's Nystroem, KernelPCA
        and KernelRidge call a kernel so, pair by pair.
        """
        if getattr(X, "ndim", None) == 1 and getattr(Z, "ndim", None) == 1:
            return self(X[None, :], Z[None, :])[0, 0]
        X = self.views(X)
        Z = X if Z is None else self.views(Z)
        values = self.tensor(X, Z)
        return values.numpy() if X.torch_device is None else values

    def diagonal(self, X: Any) -> Any:
        """kappa(x, x) of every sample: (n,)."""
        X = self.views(X)
        values = self.diagonal_tensor(X)
        return values.numpy() if X.torch_device is None else values

    def views(self, X: Any) -> Views:
        """X as the views that this kernel knows; one array is cut at the widths of the views."""
        if not is_multiview(X):
            columns = side_by_side(self.layout)
            X = Views({"all views side by side": X}).match({"all views side by side": sum(self.layout.values())})
            X = Views(X["all views side by side"], columns)
        elif not isinstance(X, Views):
            X = Views(X)
        return X.match(self.layout)

    def tensor(self, X: Views, Z: Views, dtype: torch.dtype | None = None) -> Tensor:
        """Kernel values (n, m) of matched views, where the caller's data lies."""
        dtype = dtype or torch.promote_types(X.dtype, Z.dtype)
        n, m = len(X), len(Z)
        budget = resolve_budget(self.memory_budget)
        require(
            n * m * dtype.itemsize,
            budget,
            what=f"the {n:,} x {m:,} kernel matrix itself",
            remedy="Compile the kernel into a map (DeepMapNetwork), ask for fewer samples, or raise memory_budget.",
        )
        device = self.compute_device(X)
        output = torch.empty(n, m, dtype=dtype, device=X.torch_device or "cpu")
        symmetric = X is Z
        with ProgressBar("kernel values", n * m) as progress:
            for rows, columns in self._tiles(X, m, symmetric, dtype, device, budget):
                tile = self._tile(X[rows], Z[columns], dtype, device).to(output.device)
                if symmetric and rows == columns:
                    tile = (tile + tile.T) / 2  # rounding need not be symmetric; what comes out is
                output[rows, columns] = tile
                if symmetric:
                    output[columns, rows] = tile.T
                progress.advance(tile.numel() * (2 if symmetric and rows != columns else 1))
        return output

    def diagonal_tensor(self, X: Views, dtype: torch.dtype | None = None) -> Tensor:
        """kappa(x, x) of matched views: (n,)."""
        dtype = dtype or X.dtype
        device = self.compute_device(X)
        output = torch.empty(len(X), dtype=dtype, device=X.torch_device or "cpu")
        per_row = dtype.itemsize * (X.shape[1] + len(self.inputs) + SCRATCH_VALUES)
        for rows in row_blocks(len(X), per_row, min(resolve_budget(self.memory_budget), CPU_TILE_BYTES)):
            block = X[rows]
            values = [
                self._on_view(q, lambda k, x: k.diagonal(x), block.tensor(q.view, dtype, device)) for q in self.inputs
            ]
            output[rows] = self.scale * forward(self.layers, torch.stack(values))
        return output

    def elementary(self, X: Views, Z: Views, dtype: torch.dtype, device: torch.device) -> Tensor:
        """All elementary kernels between two small sets: (n_kernels, n, m)."""
        values = torch.empty(len(self.inputs), len(X), len(Z), dtype=dtype, device=device)
        sides = {view: (X.tensor(view, dtype, device), Z.tensor(view, dtype, device)) for view in self.layout}
        for q, entry in enumerate(self.inputs):
            values[q] = self._on_view(entry, lambda k, x, z: k.pairwise(x, z), *sides[entry.view])
        return values

    def unit_values(self, X: Any, Z: Any) -> list[Tensor]:
        """The values of every unit of every layer, (n_units, n, m) each: for looking inside on small data."""
        X, Z = self.views(X), self.views(Z)
        dtype = torch.promote_types(X.dtype, Z.dtype)
        return unit_values(self.layers, self.elementary(X, Z, dtype, self.compute_device(X)))

    def compute_device(self, X: Views) -> torch.device:
        return choose_device(self.device, X)

    def pair_bytes(self, dtype: torch.dtype) -> int:
        """Memory per pair of samples while its kernel value is computed."""
        return dtype.itemsize * (len(self.inputs) + SCRATCH_VALUES)

    def _tile(self, X: Views, Z: Views, dtype: torch.dtype, device: torch.device) -> Tensor:
        return forward(self.layers, self.elementary(X, Z, dtype, device)).mul_(self.scale)

    def _tiles(
        self, X: Views, m: int, symmetric: bool, dtype: torch.dtype, device: torch.device, budget: int
    ) -> Iterator[tuple[slice, slice]]:
        """Row and column slices of square tiles; the upper triangle of tiles if symmetric."""
        tile_bytes = min(budget // 2, GPU_TILE_BYTES if device.type == "cuda" else CPU_TILE_BYTES)
        side = max(1, isqrt(tile_bytes // self.pair_bytes(dtype)))
        dense_rows = max(1, budget // (8 * dtype.itemsize * X.shape[1]))
        side = min(side, dense_rows)
        for rows in row_blocks(len(X), 1, side):
            for columns in row_blocks(m, 1, side):
                if not symmetric or columns.start >= rows.start:
                    yield rows, columns

    @staticmethod
    def _on_view(entry: ViewKernel, evaluate: Any, *tensors: Tensor) -> Tensor:
        try:
            return evaluate(entry.kernel, *tensors)
        except DataError as error:
            raise DataError(f"view {entry.view!r}: {error}") from error
