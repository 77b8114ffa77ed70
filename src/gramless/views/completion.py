"""Samples that lack a view get one: the mean of that view over known samples that are like them in the views they have.

A sample x with the views V(x) and a known sample z with V(z) are

    d(x, z) = mean over v in V(x) and V(z) of |x_v - z_v|^2 / s_v

apart, s_v the mean of |z_v - z'_v|^2 over pairs of known samples, so that no view rules by its units and any subset of
views will do. A missing x_v becomes

    sum_z w(z) z_v,   w(z) = exp(-d(x, z) / h_v) / sum_z' exp(-d(x, z') / h_v)

over the known samples that have the view: its conditional expectation by kernel regression (Nadaraya and Watson). The
width h_v is the one with which the known samples' own rows of the view are best completed by the others.

- A deep kernel at completed samples is the kernel at some samples: its matrices are p.s.d. whatever is missing.
- Rows are convex combinations: what is not negative stays so, and histograms that sum to one do.
- A sample's row depends on it and on the known samples alone, not on what else is asked for: blocks are as the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from gramless.errors import DataError
from gramless.support.budget import row_blocks
from gramless.support.config import current_budget
from gramless.views.views import Views

MOST_KNOWN = 500  # samples that others are completed from
LEAST_KNOWN = 50  # of each view, where it has as many
WIDTHS = tuple(2.0**k for k in range(2, -9, -1))
"""Of the mean squared distance between known samples, widest first: from all alike to little but the nearest."""

Rows = Mapping[str, Tensor]
"""Views of some samples, (n, width) each; NaN where one is missing."""


def completed(views: Views, known: Views | None = None) -> Views:
    """The same samples with all their views; those of `known`, by default of the samples themselves.

    Where nothing is missing these are the views that came, at no cost.
    """
    if not views.incomplete:
        return views
    if known is None:
        return Completion.of(views)(views)
    if known not in _LEARNED:
        _LEARNED[known] = Completion.of(known)
    return _LEARNED[known](views.match(known.layout))


@dataclass(frozen=True, eq=False)
class Completion:
    """Known samples, and what distances between them are measured in.

    known : views (m, width) in float64 less `centres`; NaN where a sample lacks the view
    scales, widths : s_v and h_v of every view
    """

    known: dict[str, Tensor]
    centres: dict[str, Tensor]
    scales: dict[str, float]
    widths: dict[str, float]

    @classmethod
    def of(cls, views: Views) -> Completion:
        """From some of these samples, which may lack views themselves."""
        rows = views[_chosen(views)]
        known = {name: rows.tensor(name, torch.float64) for name in rows.names}
        centres = {name: x.nanmean(0) for name, x in known.items()}
        known = {name: x - centres[name] for name, x in known.items()}
        scales = {name: 2.0 * x.square().sum(1).nanmean().item() or 1.0 for name, x in known.items()}
        return cls(known, centres, scales, best_widths(known, scales))

    def __call__(self, views: Views) -> Views:
        """Views with rows for all that are missing; the views of the known samples."""
        n_known = len(next(iter(self.known.values())))
        lacking = np.flatnonzero(np.logical_or.reduce([views.missing_in(name) for name in views.names]))
        found: dict[str, list[Tensor]] = {name: [] for name in self.known}
        per_row = 8.0 * (6 * n_known + 2 * views.shape[1])
        for part in row_blocks(len(lacking), per_row, current_budget() // 4):
            some = views[lacking[part]]
            x = {name: some.tensor(name, torch.float64) - self.centres[name] for name in self.known}
            rows = completed_rows(x, self.known, self.scales, self.widths)
            for name in self.known:
                found[name].append(rows[name] + self.centres[name])
        return views.completed({name: torch.cat(rows) for name, rows in found.items()})


_LEARNED: WeakKeyDictionary[Views, Completion] = WeakKeyDictionary()
"""Of the known samples of models, which are asked for block after block."""


def completed_rows(x: Rows, known: Rows, scales: Mapping[str, float], widths: Mapping[str, float]) -> dict[str, Tensor]:
    """The rows that samples lack, view by view: (n_missing, width) each, in order."""
    distances = mean_distances(*summed_distances(x, known, scales))
    rows = {}
    for name, z in known.items():
        has = ~missing(z)
        rows[name] = likeness(distances[missing(x[name])][:, has], widths[name]) @ z[has]
    return rows


def best_widths(known: Rows, scales: Mapping[str, float]) -> dict[str, float]:
    """Per view the width with the least squared error where the rows that are known are completed by the others."""
    total, common = summed_distances(known, known, scales)
    found = {}
    for name, z in known.items():
        own = scaled_distances(z, z, scales[name])
        distances = mean_distances(total - own.nan_to_num(nan=0.0), common - (~own.isnan()).double())
        has = ~missing(z)
        others = distances[has][:, has].fill_diagonal_(torch.inf)
        errors = [(likeness(others, width) @ z[has] - z[has]).square().sum().item() for width in WIDTHS]
        found[name] = WIDTHS[int(np.argmin(errors))]
    return found


def summed_distances(x: Rows, known: Rows, scales: Mapping[str, float]) -> tuple[Tensor, Tensor]:
    """Distances summed over the views that two samples both have, and how many those are: (n, m) each."""
    total: Tensor | float = 0.0
    common: Tensor | float = 0.0
    for name, z in known.items():
        found = scaled_distances(x[name], z, scales[name])
        total = total + found.nan_to_num(nan=0.0)
        common = common + (~found.isnan()).double()
    assert isinstance(total, Tensor)
    assert isinstance(common, Tensor)
    return total, common


def mean_distances(total: Tensor, common: Tensor) -> Tensor:
    """Infinite between samples that have no view in common."""
    return torch.where(common > 0, total / common.clamp(min=1.0), torch.inf)


def scaled_distances(x: Tensor, z: Tensor, scale: float) -> Tensor:
    """|x - z|^2 / scale of every pair (n, m); NaN where one of them is missing."""
    squares = x.square().sum(1)[:, None] + z.square().sum(1) - 2.0 * x @ z.T
    return squares.clamp(min=0.0) / scale


def likeness(distances: Tensor, width: float) -> Tensor:
    """Weights (n, m) that sum to one; all alike where nothing is at any distance."""
    weights = torch.softmax(-distances / width, dim=1)
    return weights.nan_to_num(nan=1.0 / max(distances.shape[1], 1))


def missing(x: Tensor) -> Tensor:
    return x[:, 0].isnan()


def _chosen(views: Views) -> np.ndarray:
    """Numbers of the samples that others are completed from: evenly spaced, and some that have each view."""
    chosen = _spaced(np.arange(len(views)), MOST_KNOWN)
    for name in views.names:
        has = np.flatnonzero(~views.missing_in(name))
        if not len(has):
            raise DataError(
                f"view {name!r} is missing (NaN) for every sample: nothing can be learned of it. Leave that view out."
            )
        if np.isin(chosen, has).sum() < LEAST_KNOWN:
            chosen = np.union1d(chosen, _spaced(has, LEAST_KNOWN))
    return chosen


def _spaced(rows: np.ndarray, number: int) -> np.ndarray:
    return rows if len(rows) <= number else rows[np.linspace(0, len(rows) - 1, number).round().astype(int)]
