"""Every elementary kernel as a pointwise function of a statistic of the pair and of numbers of its two samples.

A kernel without an entry here is evaluated by its own `pairwise`: right, only slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.engine.pair_statistics import Statistic
from gramless.engine.program import Operation
from gramless.engine.samples import SampleBlock
from gramless.kernels import ArcCosine, ChiSquare, Gaussian, Intersection, Kernel, Laplacian, Linear, Polynomial
from gramless.kernels.base import inverse_root
from gramless.kernels.scale import fits_float32, refuse_unsettled

EXPONENT_ROUNDING = 2e-5  # at most, of a Gaussian's exponent

Numbers = tuple[Tensor, Tensor, Tensor]
"""shift, gain and factor of every sample of a block: (n,) each."""


@dataclass(frozen=True)
class Form:
    """k = f(slope T + shifts) with gains and factors; see `program`."""

    statistic: Statistic
    operation: Operation
    numbers: Callable[[SampleBlock], Numbers]
    slope: float = 1.0
    degree: int = 1


def linear(kernel: Linear) -> Form:
    return _power(Statistic.INNER_PRODUCT, lambda block: block.squares, kernel)


def polynomial(kernel: Polynomial) -> Form:
    return _power(Statistic.INNER_PRODUCT, lambda block: block.squares, kernel, kernel.offset, kernel.degree)


def intersection(kernel: Intersection) -> Form:
    return _power(Statistic.MINIMUM, lambda block: block.sums, kernel)


def _power(
    statistic: Statistic, own: Callable[[SampleBlock], Tensor], kernel: Kernel, offset: float = 0.0, degree: int = 1
) -> Form:
    """(T + offset)^degree, normalised before the power by what the statistic is of a sample with itself."""

    def numbers(block: SampleBlock) -> Numbers:
        gain = inverse_root(own(block) + offset) if kernel.normalize else block.full(1.0)
        return block.full(offset / 2), gain, block.full(1.0)

    return Form(statistic, Operation.POWER, numbers, degree=degree)


def gaussian(kernel: Gaussian, *, centred: bool = False) -> Form:
    """exp(-|x - z|^2 / 2 scale^2) through |x - z|^2 = |x|^2 + |z|^2 - 2 <x, z>.

    Centred, the same of x - c and z - c: less cancels where samples lie far from the origin.
    """
    scale = refuse_unsettled(kernel.scale)

    def numbers(block: SampleBlock) -> Numbers:
        squares = block.centred_squares if centred else block.squares
        return squares / (-2 * scale**2), block.full(1.0), block.full(1.0)

    statistic = Statistic.CENTRED_PRODUCT if centred else Statistic.INNER_PRODUCT
    return Form(statistic, Operation.EXPONENTIAL, numbers, slope=1 / scale**2)


def laplacian(kernel: Laplacian) -> Form:
    return Form(Statistic.CITY_BLOCK, Operation.EXPONENTIAL, _plain, slope=-1 / refuse_unsettled(kernel.scale))


def chi_square(kernel: ChiSquare) -> Form:
    return Form(Statistic.CHI_SQUARE, Operation.EXPONENTIAL, _plain, slope=-1 / refuse_unsettled(kernel.scale))


def arc_cosine(kernel: ArcCosine) -> Form:
    def numbers(block: SampleBlock) -> Numbers:
        factor = block.squares ** (kernel.order / 2)
        if kernel.normalize:
            factor = factor * inverse_root(kernel.diagonal_values(block.squares))
        return block.full(0.0), inverse_root(block.squares), factor

    operations = (Operation.ARC_COSINE_0, Operation.ARC_COSINE_1, Operation.ARC_COSINE_2)
    return Form(Statistic.INNER_PRODUCT, operations[kernel.order], numbers)


def given(kernel: Kernel) -> Form:
    return Form(Statistic.GIVEN, Operation.POWER, _plain)


def _plain(block: SampleBlock) -> Numbers:
    return block.full(0.0), block.full(1.0), block.full(1.0)


FORMS: dict[type[Kernel], Callable[..., Form]] = {
    Linear: linear,
    Polynomial: polynomial,
    Gaussian: gaussian,
    Intersection: intersection,
    Laplacian: laplacian,
    ChiSquare: chi_square,
    ArcCosine: arc_cosine,
}


def form_of(kernel: Kernel) -> Form:
    """The form for samples on which float32 is fine enough."""
    if isinstance(kernel, (Gaussian, Laplacian, ChiSquare)) and not fits_float32(refuse_unsettled(kernel.scale)):
        return given(kernel)
    return FORMS.get(type(kernel), given)(kernel)


def fine_enough(kernel: Kernel, rows: SampleBlock, columns: SampleBlock) -> Form:
    """The cheapest form that is exact on these samples.

    A Gaussian is a difference of large numbers where samples lie far from the origin, or are spread much wider than its
    scale. Its own `pairwise`, the last resort, changes to float64.
    """
    if not isinstance(kernel, Gaussian) or not fits_float32(refuse_unsettled(kernel.scale)):
        return form_of(kernel)
    allowed = EXPONENT_ROUNDING * refuse_unsettled(kernel.scale) ** 2 / torch.finfo(torch.float32).eps
    if rows.squares.max() + columns.squares.max() <= allowed:
        return gaussian(kernel)
    if rows.centred_squares.max() + columns.centred_squares.max() <= allowed:
        return gaussian(kernel, centred=True)
    return given(kernel)
