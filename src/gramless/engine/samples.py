"""Rows of one view, and the sums over their features that kernels ask for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """Float32 rows x (n, d) of one view with their sums, (n,) each; with respect to a centre c only where asked."""

    x: Tensor
    sums: Tensor
    squares: Tensor  # |x|^2
    extremes: Tensor  # the smallest and the largest value of all: (2,)
    centre: Tensor

    @cached_property
    def centred(self) -> Tensor:
        return self.x - self.centre

    @cached_property
    def centred_squares(self) -> Tensor:
        return self.centred.square().sum(1)

    def full(self, value: float) -> Tensor:
        return self.x.new_full((len(self.x),), value)


def sample_block(x: Tensor, centre: Tensor) -> SampleBlock:
    """One pass over the data on a CPU, a few kernels on a GPU."""
    x = x.contiguous()
    if x.is_cuda:
        return SampleBlock(x, x.sum(1), x.square().sum(1), torch.stack(x.aminmax()), centre)
    from gramless.engine.cpu import moments  # here, since it compiles

    sums, squares, minima, maxima = (torch.from_numpy(part) for part in moments(x))
    return SampleBlock(x, sums, squares, torch.stack([minima.min(), maxima.max()]), centre)
