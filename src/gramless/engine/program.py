"""What the fused evaluators run: elementary kernels from pair statistics, then layers, all as plain arrays.

A pair (i, j) of a block has a few statistics T, each computed once and shared by the kernels of its view: the inner
product, of samples or of their square roots, the sum of minima, the city-block distance, the chi-square distance. From
them, for every elementary kernel q,

    v = (slope_q T[plane_q, i, j] + shift_qi + shift_qj) gain_qi gain_qj
    k_q = f_q(v) factor_qi factor_qj

with f_q one of `kernels.Operation`, and then the network's layers on (k_q). A sample's part of it are three numbers per
kernel, shift, gain and factor: those of n samples are a tensor (3, n_kernels, n).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from torch import Tensor

CODE_LEVELS = 255  # of an 8-bit code


class Term(IntEnum):
    """What a statistic is the sum of, over the features d."""

    PRODUCT = 0  # x_d z_d
    MINIMUM = 1  # min(x_d, z_d)
    CITY_BLOCK = 2  # |x_d - z_d|
    CHI_SQUARE = 3  # (x_d - z_d)^2 / (x_d + z_d)
    MINIMUM_OF_CODES = 4
    GIVEN = 5  # nothing: values that are there already


class Function(IntEnum):
    """Activation g of a layer."""

    IDENTITY = 0
    TANH = 1
    SINH = 2
    EXP = 3
    POLYNOMIAL = 4  # c_0 + c_1 t + c_2 t^2 + ...


@dataclass(frozen=True, eq=False)
class Elementary:
    """Which kernels there are, sample-independent: one entry each."""

    operation: np.ndarray  # (n_kernels,) int32, an Operation of kernels
    plane: np.ndarray  # (n_kernels,) int32, which statistic
    exponent: np.ndarray  # (n_kernels,)
    slope: np.ndarray  # (n_kernels,)

    def __len__(self) -> int:
        return len(self.operation)


@dataclass(frozen=True, eq=False)
class DenseLayer:
    """g(W k): W (n_units, n_inputs)."""

    weights: Tensor
    function: Function
    coefficients: tuple[float, ...] = ()  # of a POLYNOMIAL
