"""Every elementary kernel as a pointwise function of a statistic of the pair and of numbers of its two samples.

A kernel without an entry here is evaluated by its own `pairwise`: right, only slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.engine.pair_statistics import Statistic
from gramless.engine.program import Operation
from gramless.engine.samples import SampleBlock
from gramless.kernels import (
    ArcCosine,
    ChiSquare,
    Distance,
    Gaussian,
    Hellinger,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
)
from gramless.kernels.base import inverse_root
from gramless.kernels.scale import fits_float32, refuse_unsettled
from gramless.network import ViewKernel

EXPONENT_ROUNDING = 2e-5  # at most, of a squared distance in an exponent

Numbers = tuple[Tensor, Tensor, Tensor]
"""shift, gain and factor of every sample of a block: (n,) each."""

Plane = tuple[str, Statistic, Kernel | None]
"""View, statistic, and the kernel that owns it, if one does."""


@dataclass(frozen=True)
class Form:
    """k = f(slope T + shifts) with gains and factors; see `program`.

    `owner` is the kernel that the statistic is of, None where kernels of a view share it. `cancels` says that T and
    shifts are large numbers with a small difference, which is only as exact as they are.
    """

    statistic: Statistic
    operation: Operation
    numbers: Callable[[SampleBlock], Numbers]
    slope: float = 1.0
    degree: int = 1
    owner: Kernel | None = None
    cancels: bool = False


def linear(kernel: Linear) -> Form:
    return _power(Statistic.INNER_PRODUCT, lambda block: block.squares, kernel)


def polynomial(kernel: Polynomial) -> Form:
    return _power(Statistic.INNER_PRODUCT, lambda block: block.squares, kernel, kernel.offset, kernel.degree)


def hellinger(kernel: Hellinger) -> Form:
    return _power(Statistic.ROOT_PRODUCT, lambda block: block.features(kernel)[1], kernel, owner=kernel)


def intersection(kernel: Intersection) -> Form:
    return _power(Statistic.MINIMUM, lambda block: block.sums, kernel)


def _power(
    statistic: Statistic,
    own: Callable[[SampleBlock], Tensor],
    kernel: Kernel,
    offset: float = 0.0,
    degree: int = 1,
    owner: Kernel | None = None,
) -> Form:
    """(T + offset)^degree, normalised before the power by what the statistic is of a sample with itself."""

    def numbers(block: SampleBlock) -> Numbers:
        gain = inverse_root(own(block) + offset) if kernel.normalize else block.full(1.0)
        return block.full(offset / 2), gain, block.full(1.0)

    return Form(statistic, Operation.POWER, numbers, degree=degree, owner=owner)


def gaussian(kernel: Gaussian) -> Form:
    """exp(-|x - z|^2 / 2 scale^2) through |x - z|^2 = |x|^2 + |z|^2 - 2 <x, z>."""
    return _gaussian(kernel, Statistic.INNER_PRODUCT, lambda block: block.squares)


def centred_gaussian(kernel: Gaussian) -> Form:
    """The same of x - c and z - c: less cancels where samples lie far from the origin."""
    return _gaussian(kernel, Statistic.CENTRED_PRODUCT, lambda block: block.centred_squares)


def _gaussian(kernel: Gaussian, statistic: Statistic, squares: Callable[[SampleBlock], Tensor]) -> Form:
    scale = refuse_unsettled(kernel.scale)

    def numbers(block: SampleBlock) -> Numbers:
        return squares(block) / (-2 * scale**2), block.full(1.0), block.full(1.0)

    return Form(statistic, Operation.EXPONENTIAL, numbers, slope=1 / scale**2, cancels=True)


def distance(kernel: Distance) -> Form:
    """-|a - b|^2 = 2 <a, b> - |a|^2 - |b|^2 of the samples as the kernel scales them."""

    def numbers(block: SampleBlock) -> Numbers:
        return -block.features(kernel)[1], block.full(1.0), block.full(1.0)

    return Form(Statistic.SCALED_PRODUCT, Operation.NONPOSITIVE, numbers, slope=2.0, owner=kernel, cancels=True)


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
    return Form(Statistic.GIVEN, Operation.POWER, _plain, owner=kernel)


def _plain(block: SampleBlock) -> Numbers:
    return block.full(0.0), block.full(1.0), block.full(1.0)


FORMS: dict[type[Kernel], tuple[Callable[..., Form], ...]] = {
    Linear: (linear,),
    Polynomial: (polynomial,),
    Gaussian: (gaussian, centred_gaussian),
    Distance: (distance,),
    Hellinger: (hellinger,),
    Intersection: (intersection,),
    Laplacian: (laplacian,),
    ChiSquare: (chi_square,),
    ArcCosine: (arc_cosine,),
}
"""The forms of each kernel, the cheapest first."""


def form_of(kernel: Kernel) -> Form:
    """The form for samples on which float32 is fine enough."""
    return _forms(kernel)[0](kernel)


def _forms(kernel: Kernel) -> tuple[Callable[..., Form], ...]:
    """The cheapest first; where a scale is no number of float32, the kernel's own `pairwise` alone."""
    if isinstance(kernel, (Gaussian, Laplacian, ChiSquare)) and not fits_float32(refuse_unsettled(kernel.scale)):
        return (given,)
    return FORMS.get(type(kernel), (given,))


def fine_enough(kernel: Kernel, rows: SampleBlock, columns: SampleBlock) -> Form:
    """The cheapest form that is exact on these samples.

    A squared distance is a difference of large numbers where samples lie far from the origin, or are spread much wider
    than the kernel's scale. The kernel's own `pairwise`, the last resort, changes to float64.
    """
    for make in _forms(kernel):
        form = make(kernel)
        if not form.cancels or _rounding(form, rows, columns) <= EXPONENT_ROUNDING:
            return form
    return given(kernel)


def _rounding(form: Form, rows: SampleBlock, columns: SampleBlock) -> Tensor:
    """At most, of slope T + shifts: that of T is as large as that of the shifts. NaN where numbers overflow."""
    largest = form.numbers(rows)[0].abs().max() + form.numbers(columns)[0].abs().max()
    return 2 * torch.finfo(torch.float32).eps * largest


def share_planes(inputs: Sequence[ViewKernel], forms: Sequence[Form]) -> tuple[list[Plane], list[int]]:
    """The planes that kernels in these forms need, and the number of each kernel's."""
    planes: dict[tuple[str, Statistic, int], Plane] = {}
    keys = []
    for entry, form in zip(inputs, forms, strict=True):
        keys.append((entry.view, form.statistic, id(form.owner)))
        planes[keys[-1]] = (entry.view, form.statistic, form.owner)
    numbers = {key: number for number, key in enumerate(planes)}
    return list(planes.values()), [numbers[key] for key in keys]
