"""The evaluators on the CPU: Numba, with explicit vectors."""

from gramless.engine.cpu.gradient import network_gradients
from gramless.engine.cpu.moments import moments
from gramless.engine.cpu.network import evaluate, network_values, thread_bytes
from gramless.engine.cpu.packing import (
    Layers,
    Own,
    Packed,
    PairSums,
    no_kernels,
    no_layers,
    pack_kernels,
    pack_layers,
    pack_statistics,
)
from gramless.engine.cpu.panels import in_panels
from gramless.engine.cpu.slopes import feature_slopes
from gramless.engine.cpu.sums import encode, feature_sums

__all__ = [
    "Layers",
    "Own",
    "Packed",
    "PairSums",
    "encode",
    "evaluate",
    "feature_slopes",
    "feature_sums",
    "in_panels",
    "moments",
    "network_gradients",
    "network_values",
    "no_kernels",
    "no_layers",
    "pack_kernels",
    "pack_layers",
    "pack_statistics",
    "thread_bytes",
]
