"""Newton's method for linear classifiers on samples that come block by block and stay nowhere.

The problem is that of `newton`: for every label with signs y and box C_i (C times the weight of the sample's side),

    minimise  P(w) = 1/2 |w|^2 + sum_i loss_i(y_i <w, x_i>),

where x ends in a constant feature 1 whose weight makes the bias. All that a step needs are sums over samples, the
value, gradient and Hessian of the losses at w, and sums over samples are sums over blocks of sums over samples:
blocks may be cut anywhere, come in any order, and be summed on any machine. Nothing is kept per sample.

The squared hinge is piecewise quadratic, and so is P. Newton's step with the whole Hessian

    H = I + sum_i curvature_i x_i x_i'

ends in the optimum of the piece that w is in: as soon as no sample changes its piece, one step ends in the optimum
itself. Far from it a step moves margins across kinks, and then the mean curvature over how far they will move tells
more than that at a point, which of a loss with narrow kinks only few samples have:

    curvature_i = (slope_i(m_i + reach) - slope_i(m_i - reach)) / (2 reach),

the reach being a share of how far the margins moved before, the root of d'(H - I)d / sum_i curvature_i for a step d: it
falls to zero as the weights settle. It widens where a step had to be shortened and gained next to nothing of what it
promised: kinks beyond the reach were in its way, and the step after it would be the same. Measured in passes over
20,000 samples with 100 features and 4 labels, from w = 0 and from the head of 2,000 samples: the squared hinge takes 6
or 7 and 4, for C from 0.01 to 100; a Huberised hinge (tests/heads/huberized.py) with C = 1 and a width of 0.1 takes 8
and 6 (20 and 14 without a reach), a width of 0.01, at whose kinks few samples are, 24 and 20 (over 50). A hard margin
is the worst: some 60 for 200 separable samples with 8 features and C = 10,000, and up to hundreds for fewer samples
than features; `batched` is for those.

A pass at (L, d + 1) weights costs, per label, 4 n d operations for margins and gradient and n_active d^2 for the
Hessian, where n_active samples have a curvature, about those with margins under 1; solving for the step is d^3 / 3,
once. A block's answer has L (d + 1)^2 numbers, whatever the block's size: it is the rows that should be many.

Every pass evaluates all three at the weights to be tried, so that a step that P falls on costs one pass and no more.
After one on which it rises, what is known at both ends tells a better length: see `_Step.shortened`. How far a label
is from its optimum is known too: H >= I makes P(w) - min P at most 1/2 |gradient|^2, the duality gap, and about
1/2 gradient' H^-1 gradient, Newton's decrement, by which labels are found done. That decrement is what a further step
gains, and this last step is taken without another pass.

Margins, losses and gradients are float64 even where the vectors are float32; the Hessian only proposes directions, and
a block's is found in the vectors' own type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import linalg
from torch import Tensor

from gramless.errors import DataError
from gramless.heads.losses import MarginLoss
from gramless.heads.newton import Design, PrimalProblem, warn_if_unfinished
from gramless.heads.svm import Head
from gramless.support.budget import row_blocks

TOLERANCE = 1e-6  # a label is done when its P is at most about this share above its least, and one more step is taken
HESSIANS_HELD = 3  # the sum so far, a block's, and the new sum
LEAST_GAIN = 1e-4  # Armijo's share of what the slope promises
ROUNDING = 1e-12  # of P, which is a sum over all samples
FIRST_REACH = 1.5  # from w = 0, where all margins are 0, it must pass the kink at 1
REACH_SHARE = 0.8  # of the movement of the step before
REACH_FALL = 4.0  # at most, from one step to the next: a step damped by a wide reach is short, and says little
STUCK = 1e-2  # of what a step's slope promised is all that it gained
LEAST_REACH = 1e-6  # differences over less are rounding
FIRST_DAMPING = 1e-8


@dataclass(frozen=True, eq=False)
class NewtonTotals:
    """Sums over samples, of a few labels at given weights. Those of two sets of samples add up to those of both."""

    losses: np.ndarray  # (L,)
    gradient: np.ndarray  # (L, d + 1)
    hessian: np.ndarray  # (L, d + 1, d + 1)

    def __post_init__(self) -> None:
        if not all(np.isfinite(part).all() for part in (self.losses, self.gradient, self.hessian)):
            raise DataError(
                "the sums over these samples are not finite: their vectors hold NaN or infinity, or numbers too large "
                "to be squared. Clean or scale them."
            )

    def __add__(self, other: NewtonTotals) -> NewtonTotals:
        if self.gradient.shape != other.gradient.shape:
            raise DataError(
                f"sums of {len(self.losses)} labels and {self.gradient.shape[1] - 1} features cannot be added to sums "
                f"of {len(other.losses)} labels and {other.gradient.shape[1] - 1} features: all blocks need the same "
                "columns."
            )
        return NewtonTotals(self.losses + other.losses, self.gradient + other.gradient, self.hessian + other.hessian)


Totals = Callable[[np.ndarray, np.ndarray, np.ndarray], NewtonTotals]
"""One pass over all the data: totals at weights (L, d + 1) of the labels with these numbers (L,), with a reach (L,)."""


def newton_totals(
    phi: Any, signs: np.ndarray, w: np.ndarray, reach: np.ndarray, loss: MarginLoss, sides: np.ndarray
) -> NewtonTotals:
    """The totals of one block of samples; a block may be empty.

    phi : (n, d), float32 or float64, an array or a tensor on any device; signs : (n, L), +1 or -1
    w : (L, d + 1), the bias last; reach : (L,), positive
    sides : (L, 2), C times the weights of the negatives and of the positives
    """
    phi = phi.detach() if isinstance(phi, Tensor) else torch.as_tensor(np.require(phi, requirements=["C", "W"]))
    _check(phi, signs, w, reach, sides)
    design = Design(phi)
    problem = PrimalProblem.of(design, loss, signs.T, sides)
    margins = problem.signs * design.outputs(design.exact(w))
    around = design.exact(reach)[:, None]
    rise = loss.slope(margins + around, problem.box) - loss.slope(margins - around, problem.box)
    return NewtonTotals(
        problem.losses(margins)[:, 0].cpu().numpy(),
        problem.pull(margins).cpu().numpy(),
        _hessian(design, rise / (2.0 * around)),
    )


def fit_over_blocks(
    totals: Totals,
    start: Head,
    varied: np.ndarray,
    *,
    budget: int,
    max_iter: int = 50,
) -> Head:
    """Fit every label that varies; the others keep what `start` says of them.

    totals : called with the labels of a group, fewer and fewer as they are done
    start : where to start from, such as the head of a sample, or zeros; the answer is of its type
    varied : (n_labels,), which labels have both positives and negatives
    budget : bytes for the totals of a group of labels; groups are fitted one after the other
    max_iter : most passes over the data per group
    """
    if np.shape(varied) != start.intercepts.shape:
        raise DataError(f"the head to start from has {len(start.intercepts)} labels, varied shape {np.shape(varied)}.")
    labels = np.flatnonzero(varied)
    coefficients, intercepts = start.coefficients.copy(), start.intercepts.copy()
    n_iter, n_unfinished = 1, 0
    per_label = HESSIANS_HELD * 8.0 * (coefficients.shape[1] + 1) ** 2
    for block in row_blocks(len(labels), per_label, budget):
        group = labels[block]
        w = np.column_stack([coefficients[group], intercepts[group]]).astype(np.float64)
        w, n_passes, n_left = _solve(totals, group, w, max_iter)
        coefficients[group], intercepts[group] = w[:, :-1], w[:, -1]
        n_iter, n_unfinished = max(n_iter, n_passes), n_unfinished + n_left
    warn_if_unfinished(n_unfinished, len(intercepts), f"{max_iter} passes over the data")
    return Head(coefficients, intercepts, n_iter)


@dataclass(frozen=True, eq=False)
class _Step:
    """From weights where P and its slope along a direction are known, so far along it."""

    origin: np.ndarray  # (d + 1,)
    direction: np.ndarray  # (d + 1,)
    losses: float
    value: float  # P
    slope: float  # negative
    length: float

    @property
    def end(self) -> np.ndarray:
        return self.origin + self.length * self.direction

    def shortened(self, losses: float, gradient: np.ndarray, curvature: float) -> _Step:
        """The step to try after P has not fallen enough at the end of this one; derivatives are of the losses there.

        P is convex and nearly quadratic between kinks: Newton's method in the length, from the end, is right when no
        kink lies between. Where it leaves the step, kinks decide, as where all samples of a Huberised hinge start on
        its straight part; there the tangents to the losses at both ends meet near the kink. Never more than half.
        """
        w, d, t = self.end, self.direction, self.length
        newton = t - (w + gradient) @ d / (d @ d + curvature)
        falls, rises = self.slope - self.origin @ d, gradient @ d
        meet = (self.losses - losses + rises * t) / (rises - falls) if rises > falls else 0.0
        inside = [length for length in (newton, meet) if 0.0 < length < t]
        return replace(self, length=min(inside[0] if inside else t / 2, t / 2))


def _solve(totals: Totals, labels: np.ndarray, w: np.ndarray, max_iter: int) -> tuple[np.ndarray, int, int]:
    """Weights (L, d + 1), how many passes were made, and how many labels have not converged."""
    w, nowhere, n_passes = w.copy(), np.zeros(w.shape[1]), 0
    reach = np.full(len(w), FIRST_REACH)
    steps = {row: _Step(w[row], nowhere, np.inf, np.inf, 0.0, 1.0) for row in range(len(w))}
    while steps and n_passes < max_iter:
        rows = list(steps)
        sums = totals(np.stack([steps[row].end for row in rows]), labels[rows], reach[rows])
        n_passes += 1
        for row, losses, gradient, hessian in zip(rows, sums.losses, sums.gradient, sums.hessian, strict=True):
            step, end = steps[row], steps[row].end
            value = 0.5 * end @ end + losses
            if value > step.value + LEAST_GAIN * step.length * step.slope + ROUNDING * abs(value):
                steps[row] = step.shortened(losses, gradient, step.direction @ hessian @ step.direction)
                continue
            slopes = end + gradient
            direction = _newton_direction(hessian, slopes)
            decrement = -slopes @ direction
            if step.length < 1.0 and step.value - value < STUCK * -step.slope:
                reach[row] = min(REACH_FALL * reach[row], FIRST_REACH)
            else:
                reach[row] = max(REACH_SHARE * _movement(hessian, direction), reach[row] / REACH_FALL, LEAST_REACH)
            w[row], steps[row] = end, _Step(end, direction, losses, value, -decrement, 1.0)
            if 0.5 * decrement <= TOLERANCE * abs(value):
                w[row] = steps.pop(row).end
    return w, n_passes, len(steps)


def _newton_direction(hessian: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """-(I + hessian)^-1 slopes, (d + 1,), with as much on the diagonal as rounding in float32 has taken from it."""
    damping = 0.0
    while True:
        whole = hessian + np.diag(1.0 + damping * hessian.diagonal())
        try:
            return -linalg.cho_solve(linalg.cho_factor(whole, lower=True, check_finite=False), slopes)
        except linalg.LinAlgError:
            damping = max(FIRST_DAMPING, 10.0 * damping)


def _movement(hessian: np.ndarray, direction: np.ndarray) -> float:
    """Root mean square of how far a step moves margins, by curvature: the corner of the Hessian is the sum of those."""
    return float(np.sqrt(max(direction @ hessian @ direction, 0.0) / max(hessian[-1, -1], np.finfo(float).tiny)))


def _hessian(design: Design, curvature: Tensor) -> np.ndarray:
    """Of every label's losses, (L, d + 1, d + 1); only rows with a curvature are touched."""
    phi = design.phi
    borders = design.combine(curvature).cpu().numpy()
    hessian = np.empty((*borders.shape, borders.shape[1]))
    for label, (border, bend) in enumerate(zip(borders, curvature, strict=True)):
        active = bend.nonzero()[:, 0]
        hessian[label, :-1, :-1] = _square(phi[active] * bend[active].sqrt().to(phi.dtype)[:, None])
        hessian[label, -1], hessian[label, :, -1] = border, border
    return hessian


def _square(rows: Tensor) -> np.ndarray:
    """rows' rows: NumPy sees that it is symmetric and takes half the time."""
    if rows.is_cuda:
        return (rows.T @ rows).cpu().numpy()
    return rows.numpy().T @ rows.numpy()


def _check(phi: Tensor, signs: np.ndarray, w: np.ndarray, reach: np.ndarray, sides: np.ndarray) -> None:
    if phi.ndim != 2 or signs.ndim != 2 or len(phi) != len(signs):
        raise DataError(f"signs of shape {signs.shape} do not belong to vectors of shape {tuple(phi.shape)}.")
    n_labels, n_features = signs.shape[1], phi.shape[1]
    if (w.shape, reach.shape, sides.shape) != ((n_labels, n_features + 1), (n_labels,), (n_labels, 2)):
        raise DataError(
            f"{n_labels} labels on {n_features} features need weights of shape {(n_labels, n_features + 1)}, a reach "
            f"of shape {(n_labels,)} and sides of shape {(n_labels, 2)}, got {w.shape}, {reach.shape}, {sides.shape}."
        )
