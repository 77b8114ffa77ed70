"""What a deep kernel network is made of: elementary kernels on views, layers, activations, and initial weights."""

from gramless.network.activations import Activation, make_activation
from gramless.network.network import Layer, Network, ViewKernel, initial_weights, spread_gains
from gramless.network.reference import forward, gradients, unit_values

__all__ = [
    "Activation",
    "Layer",
    "Network",
    "ViewKernel",
    "forward",
    "gradients",
    "initial_weights",
    "make_activation",
    "spread_gains",
    "unit_values",
]
