"""What every elementary kernel adds to the decisions of a model.

The decision of a label is a sum over samples z_j that the model holds, support samples or landmarks,

    f_l(x) = b_l + sum_j a_lj kappa(x, z_j),

and kappa a network over elementary kernels k_q. Beside x stands a sample of which nothing is known: its elementary
values are those of the samples on average, mean_q(z_j). What tells x from it adds up over kernels:

    f_l(x) - f_l(unknown) = sum_q c_lq(x),    c_lq(x) = sum_j a_lj m_q(x, z_j) (k_q(x, z_j) - mean_q(z_j)).

m_q is the slope of the network on the way from the means to the values. A unit g(s) has the slope (g(s) - g(s0)) /
(s - s0) from its sum s0 at the means to its sum s; slopes and weights are multiplied from the output down. These are
the contributions of Shrikumar, Greenside and Kundaje (2017; their rescale rule). They add up exactly in networks of any
depth, and in one layer or a sum of exponentials they are integrated gradients.

The share of kernel q in the decisions of label l is the mean of |c_lq(x)| over samples, divided by the sum over
kernels: not negative, and one in all. A kernel that is the same for all samples, or has no weight, has no share,
however large its values are. A share says what moves decisions, not whether that is for the better: that is what
shuffling a view tells (`permutation_importances`).

The samples x are some of the z_j. How alike a sample is to itself says nothing about new ones, and would make every
kernel look important that tells samples apart: that value is replaced by its mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device, finite
from gramless.network import Layer
from gramless.network.activations import Activation
from gramless.support.budget import row_blocks
from gramless.views import Views

MOST_ROWS = 300  # samples whose contributions are averaged
MOST_VALUES = 10_000_000  # elementary values that are looked at in all; of fewer samples where each has more
FEWEST_ROWS = 20
STEP = 1e-5  # over which a slope is taken between sums that are closer: near the third root of float64's precision
ARRAYS = 4  # of the size of the values of one layer at once


def decision_shares(kernel: DeepKernel, points: Views, coefficients: np.ndarray, budget: int) -> np.ndarray:
    """The share of each elementary kernel in the decisions of each label: (n_labels, n_kernels); rows sum to one.

    A label whose decisions do not vary has a row of zeros.

    points : the samples z_j, n_points of them; some, evenly spread over their order, are the x as well
    coefficients : a, (n_labels, n_points)

    n n_points values of every kernel and unit, of n <= 300 samples.
    """
    n_points, n_kernels = len(points), len(kernel.inputs)
    n_rows = min(n_points, MOST_ROWS, max(FEWEST_ROWS, MOST_VALUES // (n_kernels * n_points)))
    rows = np.linspace(0, n_points - 1, n_rows).round().astype(int)
    n_values = ARRAYS * max(layer.n_units + layer.n_inputs for layer in kernel.layers) * n_points
    blocks = [rows[part] for part in row_blocks(n_rows, 8 * n_values, budget // 2)]
    means = _means(kernel, points, blocks)
    weights = torch.from_numpy(np.asarray(coefficients, dtype=np.float64))
    sizes = torch.zeros(len(weights), n_kernels, dtype=torch.float64)
    for some in blocks:
        values = _values(kernel, points, some)
        own = torch.from_numpy(some)
        values[:, torch.arange(len(some)), own] = means[:, own]
        sizes += contributions(kernel.layers, values, means, weights).abs().sum(2)
    totals = finite(sizes).sum(1, keepdim=True)
    return torch.where(totals > 0, sizes / totals, 0.0).numpy()


def contributions(layers: Sequence[Layer], values: Tensor, means: Tensor, coefficients: Tensor) -> Tensor:
    """c of every label, kernel and sample: (n_labels, n_kernels, n), in float64.

    values : k_q(x, z_j), (n_kernels, n, m); means : (n_kernels, m); coefficients : (n_labels, m)
    """
    ends, starts, slopes = values, means[:, None], []
    for layer in layers:
        ends, starts = (torch.tensordot(layer.weights.to(values), side, dims=1) for side in (ends, starts))
        slopes.append(secant(layer.activation, starts, ends))
        ends, starts = layer.activation(ends), layer.activation(starts)
    slope = slopes[-1]
    for layer, below in zip(reversed(layers), [*reversed(slopes[:-1]), None], strict=True):
        slope = torch.tensordot(layer.weights.to(values).T, slope, dims=1)
        slope = slope if below is None else slope * below
    added = slope * (values - means[:, None])
    return torch.movedim(added @ coefficients.T, 2, 0)


def secant(activation: Activation, start: Tensor, end: Tensor) -> Tensor:
    """(g(end) - g(start)) / (end - start); the slope between them where they are too close to tell."""
    middle, least = (start + end) / 2, STEP * (1.0 + (start + end).abs() / 2)
    half = torch.maximum((end - start).abs() / 2, least)
    return (activation(middle + half) - activation(middle - half)) / (2 * half)


def _values(kernel: DeepKernel, points: Views, rows: np.ndarray) -> Tensor:
    return kernel.elementary(points[rows], points, points.dtype, choose_device(points)).double().cpu()


def _means(kernel: DeepKernel, points: Views, blocks: Sequence[np.ndarray]) -> Tensor:
    """Of the values of every kernel with every point, over rows other than that point itself: (n_kernels, n_points)."""
    total = torch.zeros(len(kernel.inputs), len(points), dtype=torch.float64)
    counts = torch.zeros(len(points), dtype=torch.float64)
    for rows in blocks:
        values = _values(kernel, points, rows)
        values[:, torch.arange(len(rows)), torch.from_numpy(rows)] = 0.0
        total += values.sum(1)
        counts += len(rows)
        counts[torch.from_numpy(rows)] -= 1
    return total / counts.clamp_min(1)
