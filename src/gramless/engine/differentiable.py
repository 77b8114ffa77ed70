"""kappa(x, z) in plain PyTorch as a differentiable function of the columns z and of the weights.

What moving landmarks asks for. Elementary kernels follow from their formulas in the forms of the fused evaluators;
statistics that are no matrix product have the backends' own sums and slopes in float32, n m d updates each way, and in
other types go through plain PyTorch, some rows at a time. Rows x are constants: where both sides are the landmarks,
symmetry gives the other half of the gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from gramless.engine.backends import find_backend
from gramless.engine.forms import TERMS, Form, Plane, forms_of
from gramless.engine.samples import SampleBlock
from gramless.kernels import Kernel, Statistic
from gramless.kernels.operations import operate
from gramless.kernels.statistics import SUMMANDS
from gramless.network import Network

PAIR_BYTES = 32  # per pair and unit or kernel: the value, what autograd keeps of it, and temporaries
TERMS_AT_ONCE = 1 << 20  # of the plain sum of a statistic, in memory

Blocks = Mapping[str, SampleBlock]
"""Rows of every view."""


def is_movable(kernel: Kernel) -> bool:
    """Whether the kernel has a formula, and so a slope: the user's own functions and precomputed kernels have none."""
    return len(forms_of(kernel)) > 1


def differentiable_block(rows: Tensor, centre: Tensor) -> SampleBlock:
    """Rows (n, d) of a view whose sums have gradients."""
    return SampleBlock(rows, rows.sum(1), rows.square().sum(1), rows.detach().min(), centre)


def differentiable_values(
    network: Network, rows: Blocks | None, columns: Blocks, weights: Sequence[Tensor], room: int
) -> Tensor:
    """scale g_L(W_L ... g_2(W_2 k(x, z))): (n, m) in the type of the rows, with gradients for columns and weights.

    Without rows they are the columns themselves, and the gradient of every elementary value is doubled for them. Some
    rows at a time, so that what a chunk keeps for its gradient stays within `room` bytes; where there are several
    chunks, each is computed again on the way back.
    """
    symmetric = rows is None
    if rows is None:
        _prepare(network, columns)
        rows = {view: block.detached() for view, block in columns.items()}
    n, m = (len(next(iter(side.values())).x) for side in (rows, columns))
    widest = len(network.inputs) + sum(layer.n_units for layer in network.layers)
    size = max(1, room // (PAIR_BYTES * widest * m))
    if size >= n:
        return _values(network, rows, columns, weights, symmetric)
    _prepare(network, columns)  # what blocks keep once it is known has to be known before the first chunk
    parts = [slice(start, start + size) for start in range(0, n, size)]
    chunks = ({view: block.part(part) for view, block in rows.items()} for part in parts)
    return torch.cat(
        [checkpoint(_values, network, some, columns, weights, symmetric, use_reentrant=False) for some in chunks]
    )


def _prepare(network: Network, blocks: Blocks) -> None:
    for entry in network.inputs:
        form = _form(entry.kernel)
        form.numbers(blocks[entry.view])
        blocks[entry.view].operand(form.statistic)


def _values(network: Network, rows: Blocks, columns: Blocks, weights: Sequence[Tensor], symmetric: bool) -> Tensor:
    planes: dict[Plane, Tensor] = {}
    kernels = []
    for entry in network.inputs:
        x, z = rows[entry.view], columns[entry.view]
        form = _form(entry.kernel)
        key = (entry.view, form.statistic)
        if key not in planes:
            planes[key] = _statistic(form, x, z)
        kernels.append(_kernel(form, planes[key], x, z))
    hidden = torch.stack(kernels).flatten(1)  # (n_kernels, n m)
    if symmetric:
        hidden = 2 * hidden - hidden.detach()
    for layer, weight in zip(network.layers, weights, strict=True):
        hidden = layer.activation(weight @ hidden)
    return network.scale * hidden[0].view(kernels[0].shape)


def _form(kernel: Kernel) -> Form:
    """The most exact one that has slopes."""
    return forms_of(kernel)[-2]


def _statistic(form: Form, x: SampleBlock, z: SampleBlock) -> Tensor:
    if form.statistic.statistic is Statistic.INNER_PRODUCT:
        return x.operand(form.statistic) @ z.operand(form.statistic).T
    return FeaturewiseSum.apply(x.x, z.x, form.statistic.statistic)  # type: ignore[no-untyped-call]


def _kernel(form: Form, plane: Tensor, x: SampleBlock, z: SampleBlock) -> Tensor:
    """k = f((slope T + shifts) gains) factors; see `program`."""
    (shift_x, gain_x, factor_x), (shift_z, gain_z, factor_z) = form.numbers(x), form.numbers(z)
    value = (form.slope * plane + shift_x[:, None] + shift_z) * gain_x[:, None] * gain_z
    return operate(form.formula.operation, value, form.formula.exponent) * factor_x[:, None] * factor_z


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
            backend.feature_sums(TERMS[statistic], x, z, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[None, Tensor, None]:
        x, z = ctx.saved_tensors
        backend = _backend(x)
        if backend is not None:
            out = torch.empty_like(z)
            backend.feature_slopes(TERMS[ctx.statistic], x, z, cotangent.contiguous(), out)
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
    return SUMMANDS[statistic](x[:, None, :], z).sum(2)


def _rows(z: Tensor) -> int:
    return max(1, TERMS_AT_ONCE // max(1, z.numel()))
