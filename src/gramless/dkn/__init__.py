"""The deep kernel network: activations, layers, and the kernel that they make."""

from gramless.dkn.activations import Activation, make_activation
from gramless.dkn.deep_kernel import DeepKernel, ViewKernel, choose_device
from gramless.dkn.initial import initial_weights, spread_gains
from gramless.dkn.layer import Layer, forward

__all__ = [
    "Activation",
    "DeepKernel",
    "Layer",
    "ViewKernel",
    "choose_device",
    "forward",
    "initial_weights",
    "make_activation",
    "spread_gains",
]
