"""Which fused evaluator there is for a network, a type and a device; None where the reference has to do.

And what learning does with it in every step: forward and backward through the layers on elementary kernel values that
are kept. n_units n_inputs multiply-adds per pair and layer forward, about three times as many back; no value of a
hidden unit reaches memory in the fused evaluators.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor

from gramless.engine import cpu
from gramless.engine.program import DenseLayer, Function
from gramless.network import Layer, gradients, output_values
from gramless.network.activations import Activation, Exp, Identity, Power, Sinh, Tanh

FUNCTIONS: dict[type[Activation], Function] = {
    Identity: Function.IDENTITY,
    Tanh: Function.TANH,
    Sinh: Function.SINH,
    Exp: Function.EXP,
    Power: Function.POLYNOMIAL,
}


def find_backend(layers: Sequence[Layer], dtype: torch.dtype, device: torch.device) -> ModuleType | None:
    """The fused evaluators: activations that they know, and on a GPU float32 only. A function of the user's own is not
    among them."""
    if any(type(layer.activation) not in FUNCTIONS for layer in layers):
        return None
    if device.type == "cpu":
        return cpu
    if device.type == "cuda" and dtype == torch.float32 and find_spec("triton") is not None:
        from gramless.engine import cuda  # Triton is there only where CUDA is

        return cuda
    return None


def plain_layers(layers: Sequence[DenseLayer]) -> list[Layer]:
    """The way back, for what a fused evaluator leaves to the reference."""
    activations = {function: activation for activation, function in FUNCTIONS.items()}
    return [
        Layer(layer.weights, activations[layer.function](*([layer.coefficients] if layer.coefficients else [])))
        for layer in layers
    ]


def dense_layers(layers: Sequence[Layer], device: torch.device, dtype: torch.dtype) -> list[DenseLayer]:
    """Layers as the fused evaluators take them."""
    return [
        DenseLayer(
            layer.weights.to(device=device, dtype=dtype).contiguous(),
            FUNCTIONS[type(layer.activation)],
            layer.activation.coefficients if isinstance(layer.activation, Power) else (),
        )
        for layer in layers
    ]


def network_values(layers: Sequence[Layer], values: Tensor) -> Tensor:
    """The output kernel (...) of elementary values (n_kernels, ...)."""
    backend = find_backend(layers, values.dtype, values.device)
    if backend is None:
        return output_values(layers, values)
    dense = dense_layers(layers, values.device, values.dtype)
    return torch.as_tensor(backend.network_values(values.flatten(1).contiguous(), dense)).reshape(values.shape[1:])


def network_gradients(layers: Sequence[Layer], values: Tensor, slopes: Tensor) -> list[Tensor]:
    """d / dw of the sum over pairs of slope * output (the chain rule of Eq. 1): float64, one matrix per layer."""
    values, slopes = values.flatten(1).contiguous(), slopes.flatten().contiguous()
    backend = find_backend(layers, values.dtype, values.device)
    if backend is None:
        return gradients(layers, values, slopes)
    dense = dense_layers(layers, values.device, values.dtype)
    return [torch.as_tensor(found) for found in backend.network_gradients(values, slopes, dense)]
