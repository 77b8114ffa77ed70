"""Newton's method for the linear classifiers of all labels side by side.

For every label with signs y and box C_i (C times the weight of the sample's side),

    minimise  P(w) = 1/2 |w|^2 + sum_i loss_i(y_i <w, x_i>),

where x ends in a constant feature 1 whose weight makes the bias: LIBLINEAR's problem. Newton's method runs for all
labels side by side: conjugate gradients find the direction, a line search how far to go, and labels that have converged
leave. One product with the Hessian,

    H v = v + X' (curvature * X v),

is two matrix products for all labels together, 4 n d operations per label; with its diagonal as preconditioner a label
takes from 20 of them (C |x|^2 = 1) to a few hundred (100), in ten to thirty steps. A step adds three matrix products of
its own, for margins, gradient and diagonal; the line search is O(n).

How far a label is from its optimum is known: with the dual variables a_i = -loss_i'(m_i), feasible as they come, the
duality gap is P(w) - D(a) = 1/2 |w - sum_i a_i y_i x_i|^2 = 1/2 |gradient|^2, because Fenchel's inequality is tight.

Two measures against a large C. A label starts with a share of its loss, so small that few margins pass 1, and whenever
it has roughly solved that problem the share grows: on hard-margin problems that halves the work. And margins, gradients
and the line search are float64 even where the vectors are float32, being differences of large numbers; only the
directions, which are but a proposal, are found in the vectors' own type.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from gramless.heads.losses import MarginLoss
from gramless.heads.svm import Weights
from gramless.support.budget import row_blocks
from gramless.support.progress import ProgressBar

CONVERSION_BYTES = 2**24  # float32 vectors become float64 in blocks of this size
FIRST_REACH = 10.0  # margins move by about this much at most under the first share of the loss
SHARE_GROWTH = 8.0
SHARE_TOLERANCE = 0.1
DIRECTION_TOLERANCE = 0.03
DIRECTION_STEPS = 500
LENGTH_TOLERANCE = 0.01
LENGTH_STEPS = 40
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """X: the vectors with a constant feature 1 behind, never written out."""

    phi: Tensor  # (n, d)

    def __post_init__(self) -> None:
        if self.phi.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"the vectors must be float32 or float64, got {self.phi.dtype}.")

    def exact(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array, dtype=np.float64), device=self.phi.device)

    def outputs(self, w: Tensor) -> Tensor:
        """w X': (n_labels, n), in w's type."""
        result = w[:, -1:].repeat(1, len(self.phi))
        for rows, phi in self._blocks(w.dtype):
            result[:, rows].addmm_(w[:, :-1], phi.T)
        return result

    def combine(self, a: Tensor, power: int = 1) -> Tensor:
        """a X, or a times the squares of X: (n_labels, d + 1), in a's type."""
        result = a.new_zeros(len(a), self.phi.shape[1] + 1)
        result[:, -1] = a.sum(1)
        for rows, phi in self._blocks(a.dtype, always=power > 1):
            result[:, :-1].addmm_(a[:, rows], phi if power == 1 else phi**power)
        return result

    def length(self) -> float:
        """Root mean square of |x|."""
        return math.hypot(torch.linalg.vector_norm(self.phi).item() / math.sqrt(len(self.phi)), 1.0)

    def _blocks(self, dtype: torch.dtype, always: bool = False) -> Iterator[tuple[slice, Tensor]]:
        whole = self.phi.dtype == dtype and not always
        for rows in row_blocks(len(self.phi), 0.0 if whole else 8.0 * self.phi.shape[1], CONVERSION_BYTES):
            yield rows, self.phi[rows].to(dtype)


@dataclass(frozen=True, eq=False)
class PrimalProblem:
    """Labels that are being solved, one row each: 1/2 |w|^2 and a share of the loss."""

    design: Design
    loss: MarginLoss
    signs: Tensor  # (n_labels, n)
    box: Tensor  # (n_labels, n)
    share: Tensor  # (n_labels, 1)

    @classmethod
    def of(
        cls,
        design: Design,
        loss: MarginLoss,
        signs: np.ndarray,
        sides: np.ndarray,
        sample_weight: np.ndarray | None = None,
    ) -> PrimalProblem:
        """signs : (n_labels, n), 0 for a label that is not known; sides : (n_labels, 2), of negatives and positives

        sample_weight : (n,)

        A sample whose label is not known has a box of width 0, which is as if it were not there.
        """
        y, side = design.exact(signs), design.exact(sides)
        box = torch.where(y > 0, side[:, 1:], torch.where(y < 0, side[:, :1], 0.0))
        if sample_weight is not None:
            box = box * design.exact(sample_weight)
        return cls(design, loss, y, box, torch.ones_like(side[:, :1]))

    def __getitem__(self, keep: Tensor) -> PrimalProblem:
        return replace(self, signs=self.signs[keep], box=self.box[keep], share=self.share[keep])

    def pull(self, margins: Tensor) -> Tensor:
        """The whole loss's gradient in w: (n_labels, d + 1)."""
        return self.design.combine(self.signs * self.loss.slope(margins, self.box))

    def losses(self, margins: Tensor) -> Tensor:
        return self.loss.value(margins, self.box).sum(1, keepdim=True)  # (n_labels, 1)


def sides_of(C: float, weights: Weights, n_labels: int) -> np.ndarray:
    """(n_labels, 2): C times the weights of the negatives and of the positives of every label."""
    if not 0.0 < C < math.inf:
        raise ValueError(f"C must be positive and finite, got {C}: with C = 0 nothing is learned.")
    sides = C * np.array(weights, dtype=float).reshape(-1, 2)
    if len(sides) != n_labels or not ((sides >= 0.0) & (sides < math.inf)).all():
        raise ValueError(f"each of the {n_labels} labels needs two finite weights of at least 0, got {weights}.")
    return sides


def warn_if_unfinished(n_unfinished: int, n_labels: int, within: str) -> None:
    """within : what was not enough, as "50 passes over the data"."""
    if n_unfinished:
        warnings.warn(
            f"{n_unfinished} of {n_labels} classifiers have not converged in {within}. Lower C, or scale the features.",
            ConvergenceWarning,
            stacklevel=3,
        )


def solve(problem: PrimalProblem, tolerance: float, max_iter: int, progress: ProgressBar) -> tuple[Tensor, int, int]:
    """Weights (n_labels, d + 1), how many steps were taken, and how many labels have not converged."""
    design = problem.design
    w, margins = problem.signs.new_zeros(len(problem.signs), design.phi.shape[1] + 1), torch.zeros_like(problem.signs)
    solved, active, n_steps = w.clone(), torch.arange(len(w), device=w.device), 0
    weight = problem.loss.slope(margins, problem.box).abs().sum(1, keepdim=True) * design.length()
    at_zero = torch.maximum(problem.pull(margins).norm(dim=1, keepdim=True), ROUNDING * weight)
    problem = replace(problem, share=(FIRST_REACH / (at_zero * design.length())).clamp_max(1.0))
    while True:
        problem, gradient, done = _advance(problem, w, margins, at_zero, tolerance)
        solved[active[done]] = w[done]
        progress.advance(int(done.sum()))
        if done.any():
            left = ~done
            problem, active, at_zero = problem[left], active[left], at_zero[left]
            w, margins, gradient = w[left], margins[left], gradient[left]
        if not len(active) or n_steps == max_iter:
            solved[active] = w
            return solved, n_steps, len(active)
        direction = _direction(problem, margins, gradient)
        change = problem.signs * design.outputs(direction)
        length = _length(problem, w, margins, direction, change)
        w, margins, n_steps = w + length * direction, margins + length * change, n_steps + 1


def _advance(
    problem: PrimalProblem, w: Tensor, margins: Tensor, at_zero: Tensor, tolerance: float
) -> tuple[PrimalProblem, Tensor, Tensor]:
    """The problem with every label's share grown as far as w solves it, its gradient, and the labels that are done."""
    pull, losses, squared = problem.pull(margins), problem.losses(margins), 0.5 * w.square().sum(1, keepdim=True)
    share = problem.share
    while True:
        gradient = w + share * pull
        norm = gradient.norm(dim=1, keepdim=True)
        partial = share < 1.0
        enough = torch.where(partial, SHARE_TOLERANCE, tolerance)
        solved = (norm <= enough * share * at_zero) & (0.5 * norm.square() <= enough * (squared + share * losses))
        if not (solved & partial).any():
            return replace(problem, share=share), gradient, solved[:, 0]
        share = torch.where(solved & partial, (SHARE_GROWTH * share).clamp_max(1.0), share)


def _direction(problem: PrimalProblem, margins: Tensor, gradient: Tensor) -> Tensor:
    """Newton's direction by preconditioned conjugate gradients, in the type of the vectors: (n_labels, d + 1)."""
    design = problem.design
    curvature = (problem.share * problem.loss.curvature(margins, problem.box)).to(design.phi.dtype)
    diagonal = 1.0 + design.combine(curvature, power=2)
    size = gradient.norm(dim=1, keepdim=True)
    residual = (-gradient / size).to(design.phi.dtype)  # of norm 1, so that no C is too large for float32
    found, active = torch.zeros_like(residual), torch.arange(len(residual), device=residual.device)
    x, p = torch.zeros_like(residual), residual / diagonal
    energy = (residual * p).sum(1, keepdim=True)
    for _ in range(DIRECTION_STEPS):
        hp = p + design.combine(curvature * design.outputs(p))
        length = energy / (p * hp).sum(1, keepdim=True)
        x, residual = x + length * p, residual - length * hp
        found[active] = x
        far = residual.norm(dim=1) > DIRECTION_TOLERANCE
        if not far.any():
            break
        if not far.all():
            active, curvature, diagonal, x = active[far], curvature[far], diagonal[far], x[far]
            residual, p, energy = residual[far], p[far], energy[far]
        scaled = residual / diagonal
        before, energy = energy, (residual * scaled).sum(1, keepdim=True)
        p = scaled + energy / before * p
    return size * found.double()


def _length(problem: PrimalProblem, w: Tensor, margins: Tensor, direction: Tensor, change: Tensor) -> Tensor:
    """The step length t with P'(t) = 0 along the direction: (n_labels, 1).

    P' rises and is linear between kinks, so Newton's method in t, kept inside what is known to enclose the zero,
    needs few evaluations. Margins are linear in t: one evaluation is O(n) per label and no matrix product.
    """
    loss, box, share = problem.loss, problem.box, problem.share
    inner, squared = (w * direction).sum(1, keepdim=True), direction.square().sum(1, keepdim=True)
    first = inner + share * (loss.slope(margins, box) * change).sum(1, keepdim=True)
    t = torch.ones_like(first)
    low, high = torch.zeros_like(t), torch.full_like(t, torch.inf)
    for _ in range(LENGTH_STEPS):
        moved = margins + t * change
        slope = inner + t * squared + share * (loss.slope(moved, box) * change).sum(1, keepdim=True)
        far = slope.abs() > LENGTH_TOLERANCE * first.abs()
        if not far.any():
            break
        curvature = squared + share * (loss.curvature(moved, box) * change.square()).sum(1, keepdim=True)
        low, high = torch.where(slope < 0, t, low), torch.where(slope < 0, high, t)
        newton = t - slope / curvature
        inside = (newton > low) & (newton < high)
        t = torch.where(far, torch.where(inside, newton, (low + high) / 2), t)
    return t
