"""Sums over features of a function of two numbers, with their gradients with respect to the columns.

n m d updates forward and as many back, by the backend's own loops in float32. Other types go through plain PyTorch,
some rows at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gramless.engine.backends import find_backend
from gramless.kernels import Statistic
from gramless.kernels.statistics import TERMS

TERMS_AT_ONCE = 1 << 20  # of the plain formula, in memory


class Featurewise(NamedTuple):
    """What a backend calls the sums of a term, and their gradients."""

    sums: str
    slopes: str


FEATUREWISE = {
    Statistic.MINIMUM: Featurewise("minimum_sums", "minimum_slopes"),
    Statistic.CITY_BLOCK: Featurewise("city_block_distances", "city_block_slopes"),
    Statistic.CHI_SQUARE: Featurewise("chi_square_distances", "chi_square_slopes"),
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
        ctx.statistic = statistic
        backend = _backend(x)
        out = x.new_empty(len(x), len(z))
        if backend is None:
            for rows, sums in zip(x.split(_rows(z)), out.split(_rows(z)), strict=True):
                sums.copy_(_plain_sums(statistic, rows, z))
        else:
            getattr(backend, FEATUREWISE[statistic].sums)(x, z, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[None, Tensor, None]:
        x, z = ctx.saved_tensors
        backend = _backend(x)
        if backend is not None:
            out = torch.empty_like(z)
            getattr(backend, FEATUREWISE[ctx.statistic].slopes)(x, z, cotangent.contiguous(), out)
            return None, out, None
        out, z = torch.zeros_like(z), z.detach().requires_grad_()
        for rows, factors in zip(x.split(_rows(z)), cotangent.split(_rows(z)), strict=True):
            with torch.enable_grad():
                sums = _plain_sums(ctx.statistic, rows, z)
            out += torch.autograd.grad(sums, z, factors)[0]
        return None, out, None


def _backend(x: Tensor) -> Any:
    return find_backend((), x.dtype, x.device) if x.dtype == torch.float32 else None


def _plain_sums(statistic: Statistic, x: Tensor, z: Tensor) -> Tensor:
    return TERMS[statistic](x[:, None, :], z).sum(2)


def _rows(z: Tensor) -> int:
    return max(1, TERMS_AT_ONCE // max(1, z.numel()))
