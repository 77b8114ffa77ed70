"""Rows of one view, the sums over their features that kernels ask for, and what is computed of every pair of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gramless.engine.cpu.moments import moments
from gramless.kernels import Features, Kernel, Statistic


class PairStatistic(NamedTuple):
    """What the fused evaluators compute of every pair of a view, and its kernels share: a statistic of samples, or of
    what is made of them first.

    Squared distances are not among them: they follow from inner products, which more kernels share.
    """

    statistic: Statistic
    features: Features | None = None  # of the samples, which are compared instead
    centred: bool = False  # whether samples are compared after the mean of the columns is taken away
    kernel: Kernel | None = None  # whose own `pairwise` it is, where it is GIVEN

    @property
    def label(self) -> str:
        if self.features is not None:
            return "inner products of roots" if self.features.factors is None else "scaled, centred inner products"
        return f"centred {self.statistic.value}" if self.centred else self.statistic.value


ROWS_AT_ONCE = 1_024  # in float64


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """Rows x (n, d) of one view with their sums, (n,) each; with respect to a centre c only where asked."""

    x: Tensor
    sums: Tensor
    squares: Tensor  # |x|^2
    extremes: Tensor  # the smallest and the largest value of all: (2,)
    centre: Tensor
    _features: dict[Features, tuple[Tensor, Tensor]] = field(default_factory=dict)

    @cached_property
    def centred(self) -> Tensor:
        return self.x - self.centre

    @cached_property
    def centred_squares(self) -> Tensor:
        return self.centred.square().sum(1)

    def features(self, features: Features) -> tuple[Tensor, Tensor]:
        """a (n, d) that the samples are turned into, and |a|^2."""
        if features not in self._features:
            a = self._turned_into(features)
            self._features[features] = a, a.square().sum(1)
        return self._features[features]

    def _turned_into(self, features: Features) -> Tensor:
        """In float64, some rows at a time: roots and unit rows may differ by little beside their size."""
        return torch.cat([features(rows.double()).to(self.x.dtype) for rows in self.x.split(ROWS_AT_ONCE)])

    def operand(self, statistic: PairStatistic) -> Tensor:
        """The rows whose inner products a statistic is: (n, d)."""
        if statistic.features is not None:
            return self.features(statistic.features)[0]
        return self.centred if statistic.centred else self.x

    def own(self, statistic: PairStatistic) -> Tensor:
        """The statistic of each sample with itself: (n,)."""
        if statistic.statistic is Statistic.MINIMUM:
            return self.sums
        if statistic.statistic is not Statistic.INNER_PRODUCT:
            return self.full(0.0)
        if statistic.features is not None:
            return self.features(statistic.features)[1]
        return self.centred_squares if statistic.centred else self.squares

    def full(self, value: float) -> Tensor:
        return self.x.new_full((len(self.x),), value)

    def part(self, rows: slice) -> SampleBlock:
        """Some of the rows, and what is known of them."""
        known = {features: (a[rows], squares[rows]) for features, (a, squares) in self._features.items()}
        return SampleBlock(self.x[rows], self.sums[rows], self.squares[rows], self.extremes, self.centre, known)

    def detached(self) -> SampleBlock:
        """The same numbers as constants."""
        known = {features: (a.detach(), squares.detach()) for features, (a, squares) in self._features.items()}
        parts = (self.x.detach(), self.sums.detach(), self.squares.detach(), self.extremes.detach())
        return SampleBlock(*parts, self.centre, known)


@dataclass(frozen=True, eq=False)
class RootedBlock(SampleBlock):
    """Rows x = u^(1 / power) as functions of u, whose gradients are finite for kernels of roots from `power` up."""

    roots: Tensor = None  # type: ignore[assignment]  # (n, d): u
    power: float = 1.0

    @classmethod
    def of(cls, roots: Tensor, power: float, centre: Tensor) -> RootedBlock:
        x = roots.pow(round(1 / power)) if power < 1 else roots
        return cls(x, x.sum(1), x.square().sum(1), x.detach().min(), centre, roots=roots, power=power)

    def _turned_into(self, features: Features) -> Tensor:
        """From the roots that are asked for: a whole power of u."""
        exponent = round(1 / (self.power * features.root))
        return features.of_roots(self.roots if exponent == 1 else self.roots.pow(exponent))


def sample_block(x: Tensor, centre: Tensor) -> SampleBlock:
    """One pass over the data on a CPU, a few kernels on a GPU."""
    x = x.contiguous()
    if not x.is_cuda:
        return block_of(x, moments([x])[0], centre)
    return SampleBlock(x, x.sum(1), x.square().sum(1), torch.stack(x.aminmax()), centre)


def block_of(x: Tensor, moments: np.ndarray, centre: Tensor) -> SampleBlock:
    """Rows whose moments (4, n) are known."""
    sums, squares, low, high = torch.from_numpy(moments)
    return SampleBlock(x, sums, squares, torch.stack([low.min(), high.max()]), centre)
