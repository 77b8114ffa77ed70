"""A deep kernel network as a value: call it on two sets of samples and get kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gramless.engine import (
    Evaluator,
    Plan,
    choose_device,
    choose_precision,
    compute_budget,
    finite,
    kernel_matrix,
    make_evaluator,
    make_plan,
    network_values,
    on_view,
)
from gramless.errors import DataError
from gramless.kernels import Custom
from gramless.network import Layer, Network, ViewKernel
from gramless.network.activations import Exp
from gramless.support.budget import require, row_blocks
from gramless.support.config import current_budget
from gramless.views import Layout, Views, check_layout, is_multiview, side_by_side

DIAGONAL_BLOCK_BYTES = 64 << 20
SHOWN = 4  # kernels of a view


@dataclass(frozen=True, eq=False)
class DeepKernel:
    """kappa(x, z) = scale g_L(W_L ... g_2(W_2 k(x, z))) over elementary kernels k: an immutable value.

    `kappa(X, Z)` takes Views, anything that Views takes, or one array with all views side by side, so that
    `SVC(kernel=kappa)` works. Arrays give arrays and tensors give tensors. Kernel values are computed tile by tile
    where and within what memory the configuration says (`gl.config_context`), in float64 if any view needs it and in
    float32 otherwise.
    """

    inputs: tuple[ViewKernel, ...]
    layers: tuple[Layer, ...]
    layout: Layout
    scale: float = 1.0

    def __post_init__(self) -> None:
        widths = [len(self.inputs), *(layer.n_units for layer in self.layers)]
        needed = [layer.n_inputs for layer in self.layers]
        if not self.layers or widths[:-1] != needed or widths[-1] != 1:
            raise DataError(
                f"layers do not fit together: {widths[0]} kernels, then layers with {needed} inputs and "
                f"{widths[1:]} units. Each layer takes what the one before gives, and the last has one unit."
            )
        unknown = [entry.view for entry in self.inputs if entry.view not in self.layout]
        if unknown or min(self.layout.values()) < 1:
            raise DataError(
                f"every kernel needs a view of at least one column, and there is none for {unknown or self.layout}."
            )
        for entry in self.inputs:
            n_features, width = entry.kernel.n_columns, self.layout[entry.view]
            if n_features not in (None, width):
                raise DataError(
                    f"a {entry.kernel.name} kernel of {n_features} features is on view {entry.view!r} of {width}."
                )
        if not 0.0 < self.scale < float("inf"):
            raise DataError(f"the scale of a kernel must be positive and finite, got {self.scale}.")
        conditional = [entry for entry in self.inputs if entry.kernel.conditional]
        first = self.layers[0].activation
        if conditional and not isinstance(first, Exp):
            raise DataError(
                f"the {conditional[0].kernel.name} kernel on view {conditional[0].view!r} is only conditionally "
                f"p.s.d.: sums of it become a kernel under exp (Schoenberg's theorem), not under {first.name}. Use "
                "exp as the activation of the first layer: hidden=() with output_activation='exp', or "
                "activation='exp'; or leave that kernel out."
            )

    @property
    def network(self) -> Network:
        """What of the kernel the engine evaluates."""
        return Network(self.inputs, self.layers, self.scale)

    def __repr__(self) -> str:
        """Views with their widths and kernels, then the units of every layer, in one line."""
        parts = []
        for view, width in self.layout.items():
            names = [entry.kernel.name for entry in self.inputs if entry.view == view]
            more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
            parts.append(f"{view} {width}: {', '.join(names[:SHOWN] + more) or 'not used'}")
        units = ", ".join(f"{layer.n_units} {layer.activation.name}" for layer in self.layers)
        return f"DeepKernel({'; '.join(parts)}; {units})"

    def __deepcopy__(self, memo: dict[int, Any]) -> DeepKernel:
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
        return X.match(self.layout).complete("a kernel")

    def check_samples(self, X: Views) -> None:
        """Refuse samples that have other views, or that the elementary kernels are not defined for."""
        check_layout(X.layout, self.layout)
        for entry in self.inputs:
            if not isinstance(entry.kernel, Custom):  # defined for all that its author wants
                on_view(entry, entry.kernel.diagonal, X.tensor(entry.view, X.dtype, X.torch_device or "cpu"))

    def tensor(self, X: Views, Z: Views, dtype: torch.dtype | None = None) -> Tensor:
        """Kernel values (n, m) of matched views, where the caller's data lies."""
        dtype = dtype or torch.promote_types(X.dtype, Z.dtype)
        require(
            len(X) * len(Z) * dtype.itemsize,
            current_budget(),
            what=f"the {len(X):,} x {len(Z):,} kernel matrix itself",
            remedy="Compile the kernel into a map (DeepMapNetwork), ask for fewer samples, or raise memory_budget.",
        )
        device = choose_device(X)
        plan = self.plan(len(X), len(Z), dtype, device, symmetric=X is Z, streamed=X.torch_device != device)
        return finite(kernel_matrix(plan, X, Z, lambda tile: self.evaluator(tile, dtype, device), dtype, device))

    def diagonal_tensor(self, X: Views) -> Tensor:
        """kappa(x, x) of matched views: (n,)."""
        dtype, device = X.dtype, choose_device(X)
        output = torch.empty(len(X), dtype=dtype, device=X.torch_device or "cpu")
        per_row = dtype.itemsize * (2 * X.shape[1] + 4 * len(self.inputs))
        for rows in row_blocks(len(X), per_row, min(current_budget() // 2, DIAGONAL_BLOCK_BYTES)):
            block = X[rows]
            values = [on_view(q, q.kernel.diagonal, block.tensor(q.view, dtype, device)) for q in self.inputs]
            output[rows] = self.scale * network_values(self.layers, torch.stack(values))
        return finite(output)

    def elementary(self, X: Views, Z: Views, dtype: torch.dtype, device: torch.device) -> Tensor:
        """All elementary kernels between two small sets: (n_kernels, n, m)."""
        return self.evaluator(Z, dtype, device).elementary(X)

    def explain(self, n_samples: int) -> Plan:
        """What the kernel matrix of so many samples takes, before it is done: steps, operations, memory. Print it."""
        return self.plan(n_samples, n_samples, torch.float32, choose_device(), symmetric=True)

    def evaluator(self, Z: Views, dtype: torch.dtype, device: torch.device) -> Evaluator:
        """Values between any samples and these, which are prepared once."""
        return make_evaluator(self.network, Z, dtype, device, choose_precision(device))

    def plan(
        self,
        n_rows: int,
        n_columns: int,
        dtype: torch.dtype,
        device: torch.device,
        *,
        n_components: int | None = None,
        symmetric: bool = False,
        streamed: bool = False,
    ) -> Plan:
        """How the engine computes n_rows x n_columns values, and their projection to n_components."""
        return make_plan(
            self.network,
            self.layout,
            n_rows,
            n_columns,
            dtype,
            device,
            compute_budget(device),
            precision=choose_precision(device),
            n_components=n_components,
            symmetric=symmetric,
            streamed=streamed,
        )
