"""kappa(x, z) in plain PyTorch as a differentiable function of the columns z and of the weights.

What moving landmarks asks for. Elementary kernels follow from `forms`, the table of the fused evaluators, so that a
kernel is said once; statistics that are no matrix product have the backends' own slopes. Rows x are constants: where
both sides are the landmarks, symmetry gives the other half of the gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gramless.engine.featurewise import FeaturewiseSum
from gramless.engine.forms import FORMS, Form, form_of
from gramless.engine.pair_statistics import Statistic
from gramless.engine.program import Operation
from gramless.engine.samples import SampleBlock
from gramless.engine.statistics import operand
from gramless.kernels import Kernel
from gramless.network import Network

PAIR_BYTES = 32  # per pair and unit or kernel: the value, what autograd keeps of it, and temporaries
WIDEST_COSINE = 1 - 1e-6  # beyond it slopes are zero: that of an angle is infinite where it vanishes

Blocks = Mapping[str, SampleBlock]
"""Rows of every view."""


def is_movable(kernel: Kernel) -> bool:
    """Whether the kernel has a form, and so a slope: the user's own functions and precomputed kernels have none."""
    return form_of(kernel).statistic is not Statistic.GIVEN


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
        rows_of = operand(form.statistic, form.owner)
        if rows_of is not None:
            rows_of(blocks[entry.view])


def _values(network: Network, rows: Blocks, columns: Blocks, weights: Sequence[Tensor], symmetric: bool) -> Tensor:
    planes: dict[tuple[str, Statistic, int], Tensor] = {}
    kernels = []
    for entry in network.inputs:
        x, z = rows[entry.view], columns[entry.view]
        form = _form(entry.kernel)
        key = (entry.view, form.statistic, id(form.owner))
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
    """The last of a kernel's forms is the most exact."""
    return FORMS[type(kernel)][-1](kernel)


def _statistic(form: Form, x: SampleBlock, z: SampleBlock) -> Tensor:
    rows_of = operand(form.statistic, form.owner)
    if rows_of is not None:
        return rows_of(x) @ rows_of(z).T
    return FeaturewiseSum.apply(x.x, z.x, form.statistic)


def _kernel(form: Form, plane: Tensor, x: SampleBlock, z: SampleBlock) -> Tensor:
    """k = f((slope T + shifts) gains) factors; see `program`."""
    (shift_x, gain_x, factor_x), (shift_z, gain_z, factor_z) = form.numbers(x), form.numbers(z)
    value = (form.slope * plane + shift_x[:, None] + shift_z) * gain_x[:, None] * gain_z
    return _apply(form, value) * factor_x[:, None] * factor_z


def _apply(form: Form, value: Tensor) -> Tensor:
    if form.operation is Operation.POWER:
        return value if form.degree == 1 else value**form.degree
    if form.operation is Operation.EXPONENTIAL:
        return value.clamp_max(0.0).exp()
    if form.operation is Operation.NONPOSITIVE:
        return value.clamp_max(0.0)
    inside = _angular(form.operation, value.clamp(-WIDEST_COSINE, WIDEST_COSINE))
    with torch.no_grad():
        exact = _angular(form.operation, value.clamp(-1.0, 1.0))
    return inside + (exact - inside.detach())


def _angular(operation: Operation, cosine: Tensor) -> Tensor:
    angle = cosine.arccos()
    if operation is Operation.ARC_COSINE_0:
        return 1.0 - angle / pi
    sine = (1.0 - cosine.square()).sqrt()
    if operation is Operation.ARC_COSINE_1:
        return (sine + (pi - angle) * cosine) / pi
    return (3.0 * sine * cosine + (pi - angle) * (1.0 + 2.0 * cosine.square())) / pi
