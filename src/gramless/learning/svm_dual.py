"""One SVM dual per label, all on one kernel.

For each label, with signs y and box C_i (a class weight times C):

    maximise  D(alpha) = sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j K_ij,   0 <= alpha_i <= C_i,  y'alpha = 0

the dual of the hinge loss with a free bias, the very problem that LIBSVM solves. (A bias as a constant feature of size
b is this problem with K + b^2 and without the equation; it tends to it as b grows, but its stiff direction slows every
method down, and a free bias costs a pair step nothing.)

A step touches two rows of K, 3 n reads; a label with few positives takes a few steps per support vector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gramless.engine.cpu.threads import run
from gramless.errors import DataError
from gramless.learning import smo_cpu

FIRST_TOLERANCE = 1e-2
TIGHTEN = 4.0
MAX_STEPS = 1_000_000  # of a label, at one tolerance
STALL = 0.9  # a gap that falls by less has reached what float32 can tell apart, about 1e-5 for moderate C


@dataclass(frozen=True, eq=False)
class DualSolution:
    """The solution of every label, and how far from optimal it is known to be at most."""

    alpha: Tensor  # (n_labels, n)
    coefficients: Tensor  # (n_labels, n): y_i alpha_i; f(x) = sum_i coefficients_i K(x_i, x) + bias
    bias: Tensor  # (n_labels,)
    values: Tensor  # (n_labels,): D(alpha)
    gaps: Tensor  # (n_labels,): (primal - dual) / primal
    n_steps: int  # pair steps, over all labels


def solve_svm_duals(
    gram: Tensor, signs: Tensor, upper: Tensor, *, gap: float = 1e-3, start: Tensor | None = None
) -> DualSolution:
    """Solve the dual of every label to a relative duality gap, or as far as float32 goes; `gaps` tells.

    gram : (n, n) float32 tensor, on the CPU or the GPU
    signs : (n_labels, n), +1 or -1; upper : (n_labels, n), the box C_i, positive
    start : alpha of an earlier solution of a like problem, (n_labels, n), to start from

    Labels without a positive or without a negative have the solution alpha = 0, their sign as bias, and no gap.
    """
    signs, upper = signs.contiguous().float(), upper.contiguous().float()
    _check(gram, signs, upper)
    alpha = torch.zeros_like(signs)
    slack = signs.clone()
    if start is not None:
        alpha = _feasible(start, signs, upper)
        slack -= (alpha * signs) @ gram
    tolerance, n_steps, n_stalls = FIRST_TOLERANCE, 0, 0
    best: DualSolution | None = None
    while True:
        n_steps += improve(gram, signs, upper, alpha, slack, tolerance)
        outputs = (alpha * signs) @ gram
        slack = signs - outputs  # afresh: steps have let rounding gather
        solution = _certify(signs, upper, alpha.clone(), outputs.double(), n_steps)
        n_stalls = n_stalls + 1 if best is not None and solution.gaps.max() > STALL * best.gaps.max() else 0
        if best is None or solution.gaps.max() < best.gaps.max():
            best = solution
        resolution = _resolution(gram, best.alpha)
        if best.gaps.max() <= gap or n_stalls == 2 or tolerance <= resolution:
            break
        tolerance = max(tolerance / TIGHTEN, resolution)
    return replace(best, n_steps=n_steps)


def box(signs: Tensor, C: float) -> Tensor:
    """C_i of every label and sample: C, where none weighs more than another."""
    if C <= 0:
        raise ValueError(f"C must be positive, got {C}: with C = 0 nothing is learned.")
    return C * torch.ones_like(signs)


def improve(gram: Tensor, signs: Tensor, upper: Tensor, alpha: Tensor, slack: Tensor, tolerance: float) -> int:
    if signs.is_cuda:
        from gramless.learning import smo_cuda  # Triton is there only where CUDA is

        return int(smo_cuda.smo(gram, signs, upper, alpha, slack, tolerance, MAX_STEPS).sum())
    # Labels with many positives take longest: first, so that the cores end together.
    order = torch.minimum((signs > 0).sum(1), (signs < 0).sum(1)).argsort(descending=True).numpy()
    arrays = (gram.numpy(), signs.numpy(), upper.numpy(), alpha.numpy(), slack.numpy())
    n_steps = np.zeros(len(signs), np.int64)
    run(smo_cpu.smo, len(signs), *arrays, tolerance, MAX_STEPS, order, n_steps)
    return int(n_steps.sum())


def _resolution(gram: Tensor, alpha: Tensor) -> float:
    """How far rounding can move a slack: below it pairs would trade places for ever, and drift off y'alpha = 0."""
    largest = float(gram.diagonal().max())
    return torch.finfo(torch.float32).eps * largest * alpha.sum(1).max().item()


def _certify(signs: Tensor, upper: Tensor, alpha: Tensor, outputs: Tensor, n_steps: int) -> DualSolution:
    """Primal and dual values in float64, with the bias between the bounds that the two kinds of samples set.

    outputs (n_labels, n) are the classifiers' on the samples, without the bias.
    """
    coefficients = alpha * signs
    slack = signs - outputs
    grow, shrink = alpha < upper, alpha > 0
    positive = signs > 0
    inf = torch.inf
    highest = torch.where(torch.where(positive, grow, shrink), slack, -inf).amax(1)
    lowest = torch.where(torch.where(positive, shrink, grow), slack, inf).amin(1)
    bias = torch.where(highest.isinf() | lowest.isinf(), signs[:, 0].double(), (highest + lowest) / 2)
    squared = (coefficients * outputs).sum(1)
    losses = (1.0 - signs * (outputs + bias[:, None])).clamp_min(0.0)
    values = alpha.double().sum(1) - squared / 2
    primal = squared / 2 + (upper * losses).sum(1)
    gaps = torch.where(primal > 0, (primal - values) / torch.where(primal > 0, primal, 1.0), 0.0)
    return DualSolution(alpha, coefficients, bias, values, gaps, n_steps)


def _feasible(start: Tensor, signs: Tensor, upper: Tensor) -> Tensor:
    """Back into the box and onto y'alpha = 0, by scaling down the heavier side."""
    alpha = torch.minimum(start.to(signs), upper).clamp_min(0.0)
    positive = torch.where(signs > 0, alpha, 0.0).sum(1, keepdim=True)
    negative = torch.where(signs > 0, 0.0, alpha).sum(1, keepdim=True)
    lighter = torch.minimum(positive, negative)
    tiny = torch.finfo(alpha.dtype).tiny
    return alpha * torch.where(signs > 0, lighter / positive.clamp_min(tiny), lighter / negative.clamp_min(tiny))


def _check(gram: Tensor, signs: Tensor, upper: Tensor) -> None:
    n = signs.shape[1]
    if tuple(gram.shape) != (n, n):
        raise DataError(f"{n} samples have signs, but the Gram matrix has shape {tuple(gram.shape)}.")
    if gram.dtype != torch.float32:
        raise TypeError(f"the Gram matrix must be float32, got {gram.dtype}.")
    if upper.shape != signs.shape or not (upper > 0).all():
        raise ValueError("every sample needs a positive upper bound C_i.")
