"""Which fused evaluator there is for a network, a type and a device; None where the reference has to do."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType

import torch

from gramless.engine import cpu
from gramless.engine.program import DenseLayer, Function
from gramless.network import Layer
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


def dense_layers(layers: Sequence[Layer], device: torch.device, dtype: torch.dtype = torch.float32) -> list[DenseLayer]:
    """Layers as the fused evaluators take them."""
    return [
        DenseLayer(
            layer.weights.to(device=device, dtype=dtype).contiguous(),
            FUNCTIONS[type(layer.activation)],
            layer.activation.coefficients if isinstance(layer.activation, Power) else (),
        )
        for layer in layers
    ]
