"""What a deep kernel network is made of: elementary kernels on views, layers, activations, and initial weights."""

from gramless.network.activations import Activation, make_activation
from gramless.network.network import Layer, Network, ViewKernel, initial_weights, spread_gains
from gramless.network.reference import gradients, output_values

__all__ = [
    "Activation",
    "Layer",
    "Network",
    "ViewKernel",
    "gradients",
    "initial_weights",
    "make_activation",
    "output_values",
    "spread_gains",
]
