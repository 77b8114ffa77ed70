"""What a deep kernel network is made of: elementary kernels on views, layers, activations, and initial weights."""

from gramless.network.activations import Activation, make_activation
from gramless.network.initial import initial_weights, spread_gains
from gramless.network.inputs import ViewKernel
from gramless.network.layer import Layer
from gramless.network.network import Network
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
