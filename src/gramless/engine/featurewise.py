"""Sums over features of a function of two numbers, with their gradients with respect to the columns.

n m d updates forward and as many back, by the backend's own loops in float32. Other types go through plain PyTorch,
some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gramless.engine.backends import find_backend
from gramless.engine.pair_statistics import Statistic

TERMS = 1 << 20  # of the plain formula that are in memory at once


class Featurewise(NamedTuple):
    """t, and what a backend calls the sums of t and their gradients."""

    term: Callable[[Tensor, Tensor], Tensor]
    sums: str
    slopes: str


def _chi_square(x: Tensor, z: Tensor) -> Tensor:
    difference, total = x - z, x + z
    return difference * (difference / torch.where(total == 0, 1, total))


FEATUREWISE = {
    Statistic.MINIMUM: Featurewise(torch.minimum, "minimum_sums", "minimum_slopes"),
    Statistic.CITY_BLOCK: Featurewise(lambda x, z: (x - z).abs(), "city_block_distances", "city_block_slopes"),
    Statistic.CHI_SQUARE: Featurewise(_chi_square, "chi_square_distances", "chi_square_slopes"),
}


class FeaturewiseSum(torch.autograd.Function):
    """T_ij = sum_d t(x_id, z_jd), (n, m), of x (n, d) and z (m, d); a function of z: x must not require a gradient.

    Where t has a kink, its slope is the mean of those on both sides; where a chi-square term is 0 / 0, it is zero.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, z: Tensor, statistic: Statistic) -> Tensor:
        assert not ctx.needs_input_grad[0], "x requires a gradient: there is one with respect to z only"
        assert x.dtype == z.dtype, f"x is {x.dtype}, z {z.dtype}"
        x, z = x.detach().contiguous(), z.detach().contiguous()
        ctx.save_for_backward(x, z)
        ctx.featurewise = FEATUREWISE[statistic]
        backend = find_backend((), x.dtype, x.device)
        out = x.new_empty(len(x), len(z))
        if backend is None:
            for rows, sums in zip(x.split(_rows(z)), out.split(_rows(z)), strict=True):
                sums.copy_(_plain_sums(ctx.featurewise, rows, z))
        else:
            getattr(backend, ctx.featurewise.sums)(x, z, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[None, Tensor, None]:
        x, z = ctx.saved_tensors
        backend = find_backend((), x.dtype, x.device)
        if backend is not None:
            out = torch.empty_like(z)
            getattr(backend, ctx.featurewise.slopes)(x, z, cotangent.contiguous(), out)
            return None, out, None
        out, z = torch.zeros_like(z), z.detach().requires_grad_()
        for rows, factors in zip(x.split(_rows(z)), cotangent.split(_rows(z)), strict=True):
            with torch.enable_grad():
                sums = _plain_sums(ctx.featurewise, rows, z)
            out += torch.autograd.grad(sums, z, factors)[0]
        return None, out, None


def _plain_sums(featurewise: Featurewise, x: Tensor, z: Tensor) -> Tensor:
    return featurewise.term(x[:, None, :], z).sum(2)


def _rows(z: Tensor) -> int:
    return max(1, TERMS // max(1, z.numel()))
