"""How the fused evaluators come to a formula: from statistics that kernels of a view share, exactly enough.

k = f((slope T + shift_x + shift_z) gain_x gain_z) factor_x factor_z, see `program`. A kernel without a formula, or
whose slope is no number of float32, is evaluated by its own `pairwise`: right, only slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.engine.program import Term
from gramless.engine.samples import PairStatistic, SampleBlock
from gramless.kernels import Formula, Kernel, Statistic
from gramless.network import ViewKernel

# At most, of a value whose squared distance is a difference of large numbers; times the type's own, 2e-5 in float32
EXPONENT_ROUNDING = 168.0

TERMS = {
    Statistic.INNER_PRODUCT: Term.PRODUCT,
    Statistic.MINIMUM: Term.MINIMUM,
    Statistic.CITY_BLOCK: Term.CITY_BLOCK,
    Statistic.CHI_SQUARE: Term.CHI_SQUARE,
}
"""What statistics are sums of."""

Plane = tuple[str, PairStatistic]
"""A view, and what is computed of its pairs."""


@dataclass(frozen=True)
class Form:
    """A formula, and the statistic T that it is computed from."""

    formula: Formula
    statistic: PairStatistic

    @property
    def of_products(self) -> bool:
        """Whether a squared distance is computed as |x|^2 + |z|^2 - 2 <x, z>, which is as exact as these numbers."""
        return self.formula.statistic is Statistic.SQUARED_DISTANCE

    @property
    def slope(self) -> float:
        return -2 * self.formula.slope if self.of_products else self.formula.slope

    def numbers(self, block: SampleBlock) -> tuple[Tensor, Tensor, Tensor]:
        """Shift, gain and factor of every sample: (n,) each."""
        formula = self.formula
        if not formula.asks_for_own:
            one = block.full(1.0)
            return self.shift(block), one, one
        own = formula.argument(block.own(self.statistic))
        return self.shift(block), formula.gain(own), formula.factor(own)

    def shift(self, block: SampleBlock) -> Tensor:
        if not self.of_products:
            return block.full(self.formula.offset / 2)
        return self.formula.slope * block.own(self.statistic)

    def is_fine(self, rows: SampleBlock, columns: SampleBlock) -> Tensor | bool:
        """Whether rounding of slope T + shifts, which is as large as theirs, leaves values exact; not if it is NaN."""
        if not self.of_products:
            return True
        largest = self.shift(rows).abs().max() + self.shift(columns).abs().max()
        return 2 * largest * self.formula.steepness <= EXPONENT_ROUNDING


def forms_of(kernel: Kernel) -> list[Form]:
    """The cheapest first, the most exact but one last; then the kernel's own `pairwise`, which changes to float64."""
    formula = kernel.formula
    given = Form(Formula(Statistic.GIVEN), PairStatistic(Statistic.GIVEN, kernel=kernel))
    if formula.statistic is Statistic.GIVEN or not formula.fits_float32:
        return [given]
    if formula.statistic is not Statistic.SQUARED_DISTANCE:
        return [Form(formula, PairStatistic(formula.statistic, formula.features)), given]
    products = PairStatistic(Statistic.INNER_PRODUCT, formula.features)
    if formula.features is not None:
        return [Form(formula, products), given]
    return [Form(formula, products), Form(formula, products._replace(centred=True)), given]


def fine_enough(forms: Sequence[Form], rows: SampleBlock, columns: SampleBlock) -> Form:
    """The cheapest form that is exact on these samples.

    A squared distance is a difference of large numbers where samples lie far from the origin, or are spread much wider
    than the kernel's scale.
    """
    return next(form for form in forms if form.is_fine(rows, columns))


def numbers_of(inputs: Sequence[ViewKernel], forms: Sequence[Form], blocks: Mapping[str, SampleBlock]) -> Tensor:
    """Shifts, gains and factors of all kernels: (3, n_kernels, n)."""
    numbers = [torch.stack(form.numbers(blocks[entry.view])) for entry, form in zip(inputs, forms, strict=True)]
    return torch.stack(numbers, 1)


def share_planes(inputs: Sequence[ViewKernel], forms: Sequence[Form]) -> tuple[list[Plane], list[int]]:
    """The planes that kernels in these forms need, and the number of each kernel's."""
    keys: list[Plane] = [(entry.view, form.statistic) for entry, form in zip(inputs, forms, strict=True)]
    numbers = {plane: number for number, plane in enumerate(dict.fromkeys(keys))}
    return list(numbers), [numbers[plane] for plane in keys]
