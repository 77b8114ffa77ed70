"""Rows of one view, and the sums over their features that kernels ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from gramless.engine.cpu.moments import moments
from gramless.kernels import Distance, Hellinger

Embedding = Distance | Hellinger
"""Kernels that are functions of the inner products of features of their own."""

EMBEDDED_AT_ONCE = 1_024  # rows


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """Float32 rows x (n, d) of one view with their sums, (n,) each; with respect to a centre c only where asked."""

    x: Tensor
    sums: Tensor
    squares: Tensor  # |x|^2
    extremes: Tensor  # the smallest and the largest value of all: (2,)
    centre: Tensor
    _features: dict[Embedding, tuple[Tensor, Tensor]] = field(default_factory=dict)

    @cached_property
    def centred(self) -> Tensor:
        return self.x - self.centre

    @cached_property
    def centred_squares(self) -> Tensor:
        return self.centred.square().sum(1)

    def features(self, kernel: Embedding) -> tuple[Tensor, Tensor]:
        """The samples as this kernel compares them, a (n, d), and |a|^2."""
        if kernel not in self._features:
            a = self._embedded(kernel)
            self._features[kernel] = a, a.square().sum(1)
        return self._features[kernel]

    def _embedded(self, kernel: Embedding) -> Tensor:
        """In float64, some rows at a time: roots and unit rows may differ by little beside their size."""
        return torch.cat([kernel.features(rows.double()).to(self.x.dtype) for rows in self.x.split(EMBEDDED_AT_ONCE)])

    def full(self, value: float) -> Tensor:
        return self.x.new_full((len(self.x),), value)

    def part(self, rows: slice) -> SampleBlock:
        """Some of the rows, and what is known of them."""
        known = {kernel: (a[rows], squares[rows]) for kernel, (a, squares) in self._features.items()}
        return SampleBlock(self.x[rows], self.sums[rows], self.squares[rows], self.extremes, self.centre, known)

    def detached(self) -> SampleBlock:
        """The same numbers as constants."""
        known = {kernel: (a.detach(), squares.detach()) for kernel, (a, squares) in self._features.items()}
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

    def _embedded(self, kernel: Embedding) -> Tensor:
        """From the roots that the kernel takes: a whole power of u."""
        exponent = round(1 / (self.power * kernel.root))
        return kernel.features_of_roots(self.roots if exponent == 1 else self.roots.pow(exponent))


def sample_block(x: Tensor, centre: Tensor) -> SampleBlock:
    """One pass over the data on a CPU, a few kernels on a GPU."""
    x = x.contiguous()
    if x.is_cuda:
        return SampleBlock(x, x.sum(1), x.square().sum(1), torch.stack(x.aminmax()), centre)
    sums, squares, minima, maxima = (torch.from_numpy(part) for part in moments(x))
    return SampleBlock(x, sums, squares, torch.stack([minima.min(), maxima.max()]), centre)
