"""The evaluators on the CPU: Numba, with explicit vectors."""

from gramless.engine.cpu.gradient import backward
from gramless.engine.cpu.moments import moments
from gramless.engine.cpu.network import evaluate, forward, thread_bytes
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
from gramless.engine.cpu.pair_tiles import Term
from gramless.engine.cpu.panels import in_panels
from gramless.engine.cpu.statistic_slopes import chi_square_slopes, city_block_slopes, minimum_slopes
from gramless.engine.cpu.statistics import (
    chi_square_distances,
    city_block_distances,
    encode,
    minimum_sums,
    minimum_sums_of_codes,
)

__all__ = [
    "Layers",
    "Own",
    "Packed",
    "PairSums",
    "Term",
    "backward",
    "chi_square_distances",
    "chi_square_slopes",
    "city_block_distances",
    "city_block_slopes",
    "encode",
    "evaluate",
    "forward",
    "in_panels",
    "minimum_slopes",
    "minimum_sums",
    "minimum_sums_of_codes",
    "moments",
    "no_kernels",
    "no_layers",
    "pack_kernels",
    "pack_layers",
    "pack_statistics",
    "thread_bytes",
]
