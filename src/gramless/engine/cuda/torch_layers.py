"""The layers by torch, some pairs at a time: for networks of any depth and width."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gramless.engine.program import DenseLayer, Function

CHUNK_UNITS = 1 << 27  # hidden values in memory at once


def activate(function: Function, coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    if function == Function.POLYNOMIAL:
        value = torch.full_like(x, coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = value * x + coefficient
        return value
    named = {Function.TANH: torch.tanh, Function.SINH: torch.sinh, Function.EXP: torch.exp}
    return named[function](x) if function in named else x


def forward(values: Tensor, layers: Sequence[DenseLayer], scale: float, out: Tensor | None = None) -> Tensor:
    """scale times the network's value of each column of (n_kernels, n_pairs): (n_pairs,), in `out`."""
    if out is None:
        out = values.new_empty(values.shape[1])
    chunk = _chunk(layers)
    for x, y in zip(values.split(chunk, 1), out.split(chunk), strict=True):
        for layer in layers:
            x = activate(layer.function, layer.coefficients, layer.weights @ x)
        torch.mul(x[0], scale, out=y)
    return out


def backward(values: Tensor, slopes: Tensor, layers: Sequence[DenseLayer]) -> list[Tensor]:
    """Gradients of sum_p slopes_p network(values[:, p]) by every layer's weights, (n_units, n_inputs) in float64."""
    weights = [layer.weights.detach().requires_grad_() for layer in layers]
    totals = [torch.zeros_like(weight, dtype=torch.float64) for weight in weights]
    chunk = _chunk(layers)
    for x, slope in zip(values.split(chunk, 1), slopes.split(chunk), strict=True):
        with torch.enable_grad():
            for layer, weight in zip(layers, weights, strict=True):
                x = activate(layer.function, layer.coefficients, weight @ x)
        for total, gradient in zip(totals, torch.autograd.grad(x[0], weights, slope), strict=True):
            total += gradient
    return totals


def _chunk(layers: Sequence[DenseLayer]) -> int:
    return max(1, CHUNK_UNITS // sum(sum(layer.weights.shape) for layer in layers))
