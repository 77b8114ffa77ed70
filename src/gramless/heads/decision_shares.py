"""The shares of views and of elementary kernels in the decisions of a model.

The decision of a label is a sum over samples z_j that the model holds, support samples or landmarks,

    f_l(x) = b_l + sum_j a_lj kappa(x, z_j),

and kappa a network over elementary kernels on views. How much does a view move it? Let x be a sample whose views are
drawn each from a sample of its own, and x' the same but for view v, which is drawn anew. Then

    T_lv = E (f_l(x) - f_l(x'))^2 / 2

is what of the variance of f_l goes with view v, alone or together with others: Sobol's total effect, by Jansen's (1999)
estimate. The share of view v is T_lv over the sum of T_l over views: not negative, and one in all. Without interactions
the T_lv add up to the variance; a part that several views have together counts for each of them.

Within a view the same is done for each elementary kernel q, of which alone the values k_q(x, z_j) are drawn anew: the
share of the view is divided among its kernels in proportion to these effects.

A view that is the same for all samples has no share, nor one without weight, however large its kernel values are. A
sample that has views of several samples is none of the z_j: a view that tells known samples apart, and says nothing
about others, does not look important for it. A share says what moves decisions, not whether that is for the better:
that is what the score says when a view is shuffled (`permutation_importances`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device, finite
from gramless.network import Layer, output_values
from gramless.support.budget import row_blocks
from gramless.support.progress import ProgressBar
from gramless.views import Views

N_DRAWN = 300  # samples x: others would move a share p by about p (1 - p) / 10
MOST_ROWS = 300  # known samples that views are drawn from
MOST_VALUES = 10_000_000  # elementary kernel values that are looked at: fewer rows where each has many
FEWEST_ROWS = 20
SEED = 0


def decision_shares(kernel: DeepKernel, points: Views, coefficients: np.ndarray, budget: int) -> np.ndarray:
    """The share of each elementary kernel in the decisions of each label: (n_labels, n_kernels); rows sum to one.

    A label whose decisions do not vary has a row of zeros.

    points : the samples z_j, n_points of them; views are drawn from some, evenly spread over their order
    coefficients : a, (n_labels, n_points)

    300 n_points values of every unit, for every view and every kernel.
    """
    n_points, n_kernels = len(points), len(kernel.inputs)
    n_rows = min(n_points, MOST_ROWS, max(FEWEST_ROWS, MOST_VALUES // (n_kernels * n_points)))
    rows = np.linspace(0, n_points - 1, n_rows).round().astype(int)
    values = kernel.elementary(points[rows], points, points.dtype, choose_device(points)).double().cpu()
    names = [entry.view for entry in kernel.inputs]
    groups = [[q for q, name in enumerate(names) if name == view] for view in dict.fromkeys(names)]
    several = [group for group in groups if len(group) > 1]
    parts = [*groups, *([q] for group in several for q in group)]
    view_of = torch.tensor([names.index(name) for name in names])
    drawn, anew = torch.randint(n_rows, (2, n_kernels, N_DRAWN), generator=torch.Generator().manual_seed(SEED))[
        :, view_of
    ]  # of kernels on the same view the same rows
    weights = torch.from_numpy(np.asarray(coefficients, dtype=np.float64))
    found = torch.zeros(len(weights), len(parts), dtype=torch.float64)
    with ProgressBar("what matters to the model", N_DRAWN) as progress:
        for some in row_blocks(N_DRAWN, 3 * 8 * n_kernels * n_points, budget // 2):
            found += effects(kernel.layers, values, weights, parts, drawn[:, some], anew[:, some])
            progress.advance(some.stop - some.start)
    of_views, of_kernels = finite(found).split([len(groups), len(parts) - len(groups)], dim=1)
    of_views = _over_sum(of_views, 0.0)
    shares = torch.empty(len(weights), n_kernels, dtype=torch.float64)
    inside = iter(of_kernels.split([len(group) for group in several], dim=1))
    for share, group in zip(of_views.T, groups, strict=True):
        shares[:, group] = share[:, None] * (_over_sum(next(inside), 1 / len(group)) if len(group) > 1 else 1.0)
    return shares.numpy()


def effects(
    layers: Sequence[Layer],
    values: Tensor,
    coefficients: Tensor,
    parts: Sequence[Sequence[int]],
    drawn: Tensor,
    anew: Tensor,
) -> Tensor:
    """The sum over samples of (f_l(x) - f_l(x'))^2, of every label and every part: (n_labels, n_parts).

    values : (n_kernels, n_rows, n_points), of the rows that are drawn from
    parts : numbers of kernels that are drawn anew together
    drawn, anew : (n_kernels, n), the rows of x and of x' for each kernel
    """
    mixed = torch.stack([of_kernel[rows] for of_kernel, rows in zip(values, drawn, strict=True)])
    before = output_values(layers, mixed) @ coefficients.T  # (n, n_labels)
    found = []
    for part in parts:
        kept = mixed[part]
        for q in part:
            mixed[q] = values[q][anew[q]]
        found.append((output_values(layers, mixed) @ coefficients.T - before).square().sum(0))
        mixed[part] = kept
    return torch.stack(found, dim=1)


def _over_sum(found: Tensor, otherwise: float) -> Tensor:
    totals = found.sum(1, keepdim=True)
    return torch.where(totals > 0, found / totals, otherwise)
