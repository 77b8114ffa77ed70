"""The evaluators on the CPU: Numba, with explicit vectors."""

from gramless.engine.cpu.codes import encode
from gramless.engine.cpu.gradient import backward
from gramless.engine.cpu.moments import Own, look, moments, no_kernels
from gramless.engine.cpu.network import elementary_values, evaluate, forward
from gramless.engine.cpu.packing import Kernels, PairSums, pack_kernels, pack_layers
from gramless.engine.cpu.pair_tiles import Term
from gramless.engine.cpu.statistic_slopes import chi_square_slopes, city_block_slopes, minimum_slopes
from gramless.engine.cpu.statistics import (
    chi_square_distances,
    city_block_distances,
    minimum_sums,
    minimum_sums_of_codes,
)

__all__ = [
    "Kernels",
    "Own",
    "PairSums",
    "Term",
    "backward",
    "chi_square_distances",
    "chi_square_slopes",
    "city_block_distances",
    "city_block_slopes",
    "elementary_values",
    "encode",
    "evaluate",
    "forward",
    "look",
    "minimum_slopes",
    "minimum_sums",
    "minimum_sums_of_codes",
    "moments",
    "no_kernels",
    "pack_kernels",
    "pack_layers",
]
