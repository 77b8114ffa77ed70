"""Which views and kernels carry a deep kernel network: a number for each, and a table of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from rich.table import Table
from rich.text import Text

from gramless.deep_kernel import DeepKernel
from gramless.errors import DataError
from gramless.kernels import kernel_name
from gramless.support.pages import plain_table

N_POINTS = 64  # of Gauss and Legendre's rule: exact but for rounding where activations are smooth


@dataclass(frozen=True, eq=False)
class ShareTable:
    """Shares (n_views, n_kernels) that sum to 1: NaN where a view has no such kernel, a sum where it has several."""

    views: tuple[str, ...]
    kernels: tuple[str, ...]
    shares: np.ndarray

    @property
    def of_views(self) -> np.ndarray:
        return np.nansum(self.shares, axis=1)

    @property
    def of_kernels(self) -> np.ndarray:
        return np.nansum(self.shares, axis=0)


def input_shares(kernel: DeepKernel) -> np.ndarray:
    """The share of each elementary kernel in the network's output: (n_inputs,), summing to 1.

    Between two samples that are nothing alike all elementary kernels are 0, between a sample and itself they are 1
    (normalised kernels are; others are taken to have that scale; distances are -1 on average, and 0). On the straight
    way from the one to the other the output grows, and this growth is the sum of what every input adds: the integral
    of d output / d input. These are the integrated gradients of Sundararajan, Taly and Yan (2017). In a network without
    activations they are the products of the weights from input to output; in others each unit counts by its slope, so
    that a tanh that is saturated counts little whatever its weights.
    """
    positions, lengths = np.polynomial.legendre.leggauss(N_POINTS)
    way = torch.from_numpy((positions + 1) / 2)
    unlike = torch.tensor([-1.0 if entry.kernel.conditional else 0.0 for entry in kernel.inputs], dtype=way.dtype)
    values = (unlike[:, None] + way).requires_grad_()  # (n_inputs, n_points)
    with torch.enable_grad():
        output = values
        for layer in kernel.layers:
            output = layer.activation(layer.weights @ output)
    (slopes,) = torch.autograd.grad(output.sum(), values)
    added = slopes.numpy() @ (lengths / 2)
    total = added.sum()
    if not (np.isfinite(total) and total > 0):
        raise DataError(
            f"the output of this network changes by {total:g} when all its kernels grow from 0 to 1, so they have no "
            "shares in it. Look at its weights: all of them are zero, or its activations do not grow."
        )
    return added / total


def shares_by(kernel: DeepKernel) -> ShareTable:
    """The shares as a table of views by kernels, both in the order of the network's inputs."""
    inputs = [(entry.view, kernel_name(entry.kernel)) for entry in kernel.inputs]
    views, kernels = (tuple(dict.fromkeys(names)) for names in zip(*inputs, strict=True))
    return ShareTable(views, kernels, summed(inputs, input_shares(kernel), views, kernels))


def summed(
    inputs: Sequence[tuple[str, str]], shares: np.ndarray, views: Sequence[str], kernels: Sequence[str]
) -> np.ndarray:
    """The shares of inputs, each a view and the name of a kernel, as in a ShareTable: (n_views, n_kernels)."""
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for owner, share in zip(inputs, shares.tolist(), strict=True):
        sums[owner] += share
    return np.array([[sums.get((view, name), np.nan) for name in kernels] for view in views])


def weights_table(kernel: DeepKernel) -> Table:
    """The shares in percent for the terminal: views with the largest share first, and the sums of rows and columns."""
    found = shares_by(kernel)
    table = plain_table("Share of views and kernels in the learned kernel, %")
    table.show_footer = True
    table.add_column("view", "all", overflow="fold")
    for name, share in zip(found.kernels, found.of_kernels, strict=True):
        table.add_column(Text(heading(name)), percent(share), justify="right", overflow="fold")
    table.add_column("all", percent(1.0), justify="right", style="bold")
    for row in np.argsort(-found.of_views, kind="stable"):
        table.add_row(Text(found.views[row]), *map(percent, found.shares[row]), percent(found.of_views[row]))
    return table


def heading(name: str) -> str:
    """Of a narrow column: a long name has hyphens, and is broken after them."""
    return name.replace("-", "-\n")


def percent(share: float) -> str:
    """Nothing where there is no share."""
    return "" if np.isnan(share) else f"{100 * share:.1f}"
