"""Samples that lack a view get one: what is to be expected of it, given the views that they have.

Per view v a kernel ridge regression predicts its rows x_v from the other views,

    x_v = c_v + sum_z exp(-d_v(x, z) / 8) a_v(z),   d_v(x, z) = mean over views u other than v of |x_u - z_u|^2 / s_u

over known samples z, c_v and s_v being their mean row and their mean squared distance, so that no view rules by its
units. The ridge is the one with the least leave-one-out error, in closed form. What is missing starts as c_v and is
predicted view after view, twice, the second time from what the first has put there. Known samples that lack views
themselves are completed in the same way, by regressions on what is there so far (chained equations). What is predicted
stays between the least and the largest known value of its column.

- A deep kernel at completed samples is the kernel at some samples: its matrices are p.s.d. whatever is missing.
- What is not negative stays so: kernels that need it are defined at completed samples.
- A sample's rows depend on it and on the known samples alone, not on what else is asked for: blocks are as the whole.
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
from gramless.support.progress import ProgressBar
from gramless.views.views import Views

MOST_KNOWN = 500  # samples that others are completed from
LEAST_KNOWN = 50  # of each view, where it has as many
WIDTH = 8.0  # of the kernel, in mean squared distances: wide, so that regressions are smooth and nearly linear
RIDGES = tuple(10.0**k for k in np.arange(-5.0, 1.5, 0.5).tolist())
"""Beside the kernel's diagonal, which is 1."""
ROUNDS = 2

ViewRows = Mapping[str, Tensor]
"""Views of some samples, (n, width) each, less their mean and in units of sqrt(s_v); no number is missing."""


def completed(views: Views, known: Views | None = None) -> Views:
    """The same samples with all their views; those of `known`, by default of the samples themselves.

    Where nothing is missing these are the views that were given, at no cost.
    """
    if not views.incomplete:
        return views
    if known is None:
        return Completion.of(views)(views)
    if known not in _LEARNED:
        _LEARNED[known] = Completion.of(known)
    return _LEARNED[known](views.match(known.layout))


@dataclass(frozen=True, eq=False)
class Units:
    """How one view is measured: (x - centre) / scale; and the least and the largest known value of every column."""

    centre: Tensor  # (width,)
    scale: float
    low: Tensor  # (width,)
    high: Tensor  # (width,)

    @classmethod
    def of(cls, rows: Tensor) -> Units:
        centre = rows.mean(0)
        scale = (2.0 * (rows - centre).square().sum(1).mean()).sqrt().item() or 1.0
        return cls(centre, scale, rows.amin(0), rows.amax(0))

    def __call__(self, rows: Tensor) -> Tensor:
        """In these units; what is missing becomes the mean."""
        return ((rows - self.centre) / self.scale).nan_to_num(nan=0.0)

    def back(self, rows: Tensor) -> Tensor:
        """As they came, within what is known: 0 comes back as 0, and not just below it."""
        return (rows * self.scale + self.centre).clamp(self.low, self.high)


@dataclass(frozen=True, eq=False)
class Regression:
    """One view as a function of the others: `mean` (width,) and kernel values with known samples times `weights`.

    rows : numbers of the known samples that it was learned from, those that have the view
    weights : (n_rows, width)
    """

    rows: Tensor
    weights: Tensor
    mean: Tensor


@dataclass(frozen=True, eq=False)
class Completion:
    """Known samples, in the units of their views, and a regression of each view on the others."""

    known: dict[str, Tensor]
    units: dict[str, Units]
    regressions: dict[str, Regression]

    @classmethod
    def of(cls, views: Views) -> Completion:
        """From some of these samples, which may lack views themselves."""
        chosen = views[_chosen(views)]
        lacks = {name: torch.from_numpy(chosen.missing_in(name)) for name in chosen.names}
        rows = {name: chosen.tensor(name, torch.float64) for name in chosen.names}
        units = {name: Units.of(x[~lacks[name]]) for name, x in rows.items()}
        known = {name: units[name](x) for name, x in rows.items()}
        rounds = 1 + ROUNDS * chosen.incomplete
        regressions: dict[str, Regression] = {}
        with ProgressBar("completing views", rounds * len(known)) as progress:
            for last in [False] * (rounds - 1) + [True]:
                for name in known:
                    regressions[name] = learned(name, known, lacks[name])
                    if not last:
                        replace_missing(name, regressions[name], units[name], known, known, lacks[name])
                    progress.advance(1)
        return cls(known, units, regressions)

    def __call__(self, views: Views) -> Views:
        """Views with rows for all that are missing; the views of the known samples."""
        n_known = len(next(iter(self.known.values())))
        lacking = np.flatnonzero(np.logical_or.reduce([views.missing_in(name) for name in views.names]))
        found: dict[str, list[Tensor]] = {name: [] for name in self.known}
        per_row = 8.0 * (6 * n_known + 4 * views.shape[1])
        for part in row_blocks(len(lacking), per_row, current_budget() // 4):
            some = views[lacking[part]]
            lacks = {name: torch.from_numpy(some.missing_in(name)) for name in self.known}
            x = {name: self.units[name](some.tensor(name, torch.float64)) for name in self.known}
            for _ in range(ROUNDS):
                for name, regression in self.regressions.items():
                    replace_missing(name, regression, self.units[name], x, self.known, lacks[name])
            for name in self.known:
                found[name].append(self.units[name].back(x[name][lacks[name]]))
        return views.completed({name: torch.cat(rows) for name, rows in found.items()})


_LEARNED: WeakKeyDictionary[Views, Completion] = WeakKeyDictionary()
"""Of the known samples of models, which are asked for block after block."""


def replace_missing(
    name: str, regression: Regression, units: Units, x: dict[str, Tensor], known: ViewRows, lacks: Tensor
) -> None:
    """Put what is expected of one view, given the others, in its place in x where it is missing."""
    if lacks.any():
        lacking = {view: rows[lacks] for view, rows in x.items()}
        learned_from = {view: rows[regression.rows] for view, rows in known.items()}
        expected = similarity(name, lacking, learned_from) @ regression.weights + regression.mean
        x[name] = x[name].index_put((lacks,), units(units.back(expected)))


def learned(name: str, known: ViewRows, lacks: Tensor) -> Regression:
    """The regression of one view on the others, from the samples that have it."""
    rows = (~lacks).nonzero()[:, 0]
    some = {view: x[rows] for view, x in known.items()}
    mean = some[name].mean(0)
    values, basis = torch.linalg.eigh(similarity(name, some, some))
    values = values.clamp(min=0.0)
    turned = basis.T @ (some[name] - mean)
    errors = []
    for ridge in RIDGES:
        left = ridge / (values + ridge)
        unexplained = basis.square() @ left  # 1 less the diagonal of the matrix from targets to predictions
        errors.append((basis @ (left[:, None] * turned) / unexplained[:, None]).square().sum().item())
    best = RIDGES[int(np.argmin(errors))]
    return Regression(rows, basis @ (turned / (values + best)[:, None]), mean)


def similarity(name: str, x: ViewRows, z: ViewRows) -> Tensor:
    """exp(-d / WIDTH) of every pair (n, m), d the mean of squared distances in all views but one."""
    distances = [squared_distances(x[view], z[view]) for view in z if view != name]
    return torch.exp(torch.stack(distances).mean(0) / -WIDTH)


def squared_distances(x: Tensor, z: Tensor) -> Tensor:
    """|x - z|^2 of every pair: (n, m)."""
    return (x.square().sum(1)[:, None] + z.square().sum(1) - 2.0 * x @ z.T).clamp(min=0.0)


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
