"""A sum of exponentials of weighted kernels, learned by leave-one-out.

    kappa(x, z) = sum_p v_p exp(sum_q w_pq k_q(x, z)),

one unit over all kernels and one over those of each view: what views say together, and what each says alone. With one
view the units have narrow to wide exponents instead. All weights descend on the leave-one-out error (`ridge_trainer`).

Weights follow chance, and how far to trust them is not known. Other networks of the same inputs err elsewhere: equal
shares of all kernels under a learned gain, and a learned product over all views that is then learned further as a sum
of itself, narrower and wider, whose tails are heavier than an exponential's. The mean of all three is seldom behind the
best of them, but for those that are far behind (`network_learning.without_those_behind`). Of more samples than a tile
has, the sum is learned first on one tile and from there on all, and the mean is that of the sum and of equal shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gramless.learning.checkpoint import CurvePoint
from gramless.learning.elementary import ElementaryValues
from gramless.learning.network_gradient import gram_matrix
from gramless.learning.ridge_trainer import (
    CONVERGED,
    FIRST_RIDGE,
    FIRST_SPREAD,
    FROM_NEAR,
    NEAR,
    SMALLEST,
    descend,
    equal_shares,
    kernel_spreads,
)
from gramless.learning.settings import LeaveOneOut
from gramless.network import Layer
from gramless.network.activations import Activation, Identity
from gramless.support.progress import ProgressBar

FAINT = 1e-3  # spread of another view's kernel in a view's own unit at the start: enough for a slope
WIDTHS = (0.25, 1.0, 4.0)  # of exponents over the same kernels, times the first
IDLE_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Mixture:
    """Networks of the same inputs by what they are, and how the error of the sum of exponentials fell."""

    networks: dict[str, tuple[Layer, ...]]
    curve: tuple[CurvePoint, ...]


def learn_mixture(
    activation: Activation,
    groups: Sequence[Sequence[int]],
    elementary: ElementaryValues,
    targets: Tensor,
    settings: LeaveOneOut,
) -> Mixture:
    """The networks whose mean is to be taken; `groups` has the numbers of every view's inputs.

    Costs as `learn_by_leave_one_out`, four times on few samples; a pass has n_units n_kernels multiply-adds per pair.
    """
    spreads, first = kernel_spreads(elementary), elementary.first_tile()
    n_steps, all_at_once = settings.max_evaluations, first.n_samples == elementary.n_samples
    single = (Layer(equal_shares(spreads)[None, :], activation),)
    several = _sum_of(first_units(spreads, groups), activation)
    with ProgressBar("learning the deep kernel", n_steps * (4 if all_at_once else 3)) as progress:
        equal = descend(single, first, targets, FIRST_RIDGE, n_steps, progress, tied=True)
        least = CONVERGED if all_at_once else NEAR
        mixed = descend(several, first, targets, FIRST_RIDGE, n_steps, progress, least=least)
        networks = {"equal shares": equal.layers}
        if all_at_once:
            product = descend(single, first, targets, FIRST_RIDGE, n_steps, progress)
            wider = _sum_of(_in_widths(product.layers[0].weights[0]), activation)
            networks["a product"] = descend(wider, first, targets, product.ridge, n_steps, progress).layers
        else:
            near, ridge = mixed.layers, mixed.ridge
            mixed = descend(near, elementary, targets, ridge, n_steps, progress, origin=several, least=FROM_NEAR)
    return Mixture(networks | {"a sum over views": mixed.layers}, mixed.curve)


def first_units(spreads: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
    """Weights that units start from: (n_units, n_kernels). A view whose kernels are constant gets no unit."""
    shares = equal_shares(spreads)
    seen = [[q for q in group if spreads[q] > 0] for group in groups]
    own = [group for group in seen if group]
    if len(own) < 2:
        return _in_widths(shares)
    units = torch.where(spreads > 0, FAINT / spreads, SMALLEST).repeat(1 + len(own), 1)
    units[0] = shares
    for unit, group in zip(units[1:], own, strict=True):
        unit[group] = FIRST_SPREAD / (len(group) * spreads[group])
    return units


def mean_kernel(networks: Sequence[Sequence[Layer]], elementary: ElementaryValues) -> tuple[Layer, ...]:
    """One network whose values are the mean of several networks', each over its mean diagonal."""
    hidden = torch.cat([layers[0].weights for layers in networks])
    sums = [layers[1].weights[0] if len(layers) > 1 else torch.ones(1) for layers in networks]
    sizes = [gram_matrix(layers, elementary).diagonal().mean(dtype=torch.float64).item() or 1.0 for layers in networks]
    output = torch.cat([v / (size * len(networks)) for v, size in zip(sums, sizes, strict=True)])
    return Layer(hidden, networks[0][0].activation), Layer(output[None, :], Identity())


def without_idle_parts(layers: Sequence[Layer], elementary: ElementaryValues) -> tuple[tuple[Layer, ...], np.ndarray]:
    """The layers without units and inputs that make less than a hundredth of anything, and the inputs that remain.

    A unit is idle by its share of the output, an input by its share of the spread of every unit's sum.
    """
    spreads = kernel_spreads(elementary)
    hidden, output = layers[0].weights, layers[1].weights if len(layers) == 2 else None
    if output is not None:
        kept = output[0] > IDLE_SHARE * output.sum()
        hidden, output = hidden[kept], output[:, kept]
    parts = hidden * spreads
    busy = np.flatnonzero((parts > IDLE_SHARE * parts.sum(1, keepdim=True)).any(0).numpy())
    busy = busy if len(busy) else np.arange(hidden.shape[1])
    first = Layer(hidden[:, busy], layers[0].activation)
    return (first,) if output is None else (first, Layer(output, layers[1].activation)), busy


def _in_widths(weights: Tensor) -> Tensor:
    """Exponents narrower and wider than that of these weights: (n_units, n_kernels)."""
    return torch.tensor(WIDTHS, dtype=torch.float64)[:, None] * weights


def _sum_of(units: Tensor, activation: Activation) -> tuple[Layer, ...]:
    return Layer(units, activation), Layer(torch.ones(1, len(units)), Identity())
