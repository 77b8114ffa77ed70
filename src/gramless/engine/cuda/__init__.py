"""The fused evaluators on CUDA tensors, in Triton: the only package that imports it."""

from gramless.engine.cuda.given_values import backward, forward
from gramless.engine.cuda.network import elementary_values, evaluate
from gramless.engine.cuda.statistic_slopes import chi_square_slopes, city_block_slopes, minimum_slopes
from gramless.engine.cuda.statistics import chi_square_distances, city_block_distances, minimum_sums

__all__ = [
    "backward",
    "chi_square_distances",
    "chi_square_slopes",
    "city_block_distances",
    "city_block_slopes",
    "elementary_values",
    "evaluate",
    "forward",
    "minimum_slopes",
    "minimum_sums",
]
