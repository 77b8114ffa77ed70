"""A few last steps with labels: landmarks and weights moved to lower the leave-one-out error of ridge regression.

On the map, ridge regression is linear, and its leave-one-out error is in closed form too: with G = phi(X) (n, N),
H = (G'G + ridge I)^-1 and h the leverages diag(G H G'), the sample that is left out misses its targets by

    e_i = (y_i - (G H G' y)_i) / (1 - h_i).

N d numbers can learn the labels by heart within a hundred steps. Two things hold that back. The targets are half the
labels and half what the kernel itself says of a sample from all others, its own leave-one-out prediction: the map need
not say more than the kernel that it stands for. And the number of steps is the one with the best ranking on held-out
samples; if that is none, the map stays as it was.

A step costs (n + N) N kernel values forward and back, and about 4 n N^2 operations in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from gramless.engine import choose_device
from gramless.learning import leave_one_out_residuals
from gramless.maps import CollapsedMap
from gramless.maps.tuning.moving_map import MovingMap
from gramless.metrics import mean_average_precision
from gramless.support.budget import affordable_samples
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views import Views

MAX_SAMPLES = 5_000
MATRICES = 5  # n x n in float64 at once: the kernel, the system, its factor and inverse, and what they are made from
MAX_STEPS = 60
CHECK_EVERY = 10
PATIENCE = 3  # checks without a better ranking
HELD_OUT_SHARE = 0.1
STEP_SIZE, WEIGHT_STEP, RIDGE_STEP = 0.16, 0.01, 0.05  # of the spread of a column; of logarithms
FIRST_RIDGE = 0.1  # of the mean of |phi(x)|^2
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)  # of the kernel's mean diagonal, for its own predictions

Score = Callable[[Tensor, Tensor], float]
"""How good scores (n, n_labels) rank labels (n, n_labels) of +1 and -1; higher is better."""


def ranking(scores: Tensor, signs: Tensor) -> float:
    """The mean of both mean average precisions, over samples and over labels; 0 where no label is positive."""
    margins, truth = scores.double().cpu().numpy(), (signs > 0).numpy()
    if not truth.any():
        return 0.0
    by_label = mean_average_precision(margins, truth, over="concepts")
    return by_label if truth.shape[1] == 1 else (mean_average_precision(margins, truth, over="samples") + by_label) / 2


@dataclass(frozen=True, eq=False)
class FinishedMap:
    """The map after the steps, and the ranking of held-out samples by number of steps."""

    map: CollapsedMap
    curve: tuple[tuple[int, float], ...]


def finish_with_labels(
    deep_map: CollapsedMap, X: Views, signs: Tensor, score: Score, generator: torch.Generator
) -> FinishedMap:
    """`signs` (n, n_labels) are +1 or -1; at most 5,000 samples are looked at, and no more than fit; fewer are said.

    Ctrl-C leaves the map as it was.
    """
    X = deep_map.kernel.views(X)
    n_wanted, budget = min(MAX_SAMPLES, len(X)), current_budget()
    n_taken = affordable_samples(n_wanted, MATRICES * 8, budget, what="moving landmarks with labels")
    order = torch.randperm(len(X), generator=generator)[:n_taken]
    n_held_out = max(1, round(HELD_OUT_SHARE * len(order)))
    held_out, kept = order[:n_held_out], order[n_held_out:]
    curve: tuple[tuple[int, float], ...] = ()
    with ProgressBar("finishing with labels", 2 * MAX_STEPS) as progress:
        try:
            trial = Descent(deep_map, X[kept], signs[kept])
            curve = trial.run(MAX_STEPS, progress, lambda: trial.judged(X[held_out], signs[held_out], score))
            n_steps = max(curve, key=lambda point: (point[1], -point[0]))[0]
            if n_steps == 0:
                return FinishedMap(deep_map, curve)
            final = Descent(deep_map, X[order], signs[order])
            final.run(n_steps, progress)
        except KeyboardInterrupt:
            return FinishedMap(deep_map, curve)
    return FinishedMap(final.moving.compiled(deep_map), curve)


class Descent:
    """Full-batch Adam on the leave-one-out error of linear ridge regression on the map."""

    def __init__(self, deep_map: CollapsedMap, X: Views, signs: Tensor) -> None:
        device = choose_device(X)
        self.moving = MovingMap.of(deep_map, device, with_weights=True)
        self.rows = self.moving.blocks_of(X)
        centred = signs.double().to(device)
        centred = centred - centred.mean(0)
        self.targets = (centred + kernel_predictions(deep_map, X, centred)) / 2
        with torch.no_grad():
            size = self.moving.features(self.rows, self.moving.placed()).square().sum(1).mean()
        self.log_ridge = (FIRST_RIDGE * size).log().requires_grad_()
        self._optimizer = torch.optim.Adam(
            [
                {"params": self.moving.landmarks.parameters, "lr": STEP_SIZE},
                {"params": self.moving.log_weights, "lr": WEIGHT_STEP},
                {"params": [self.log_ridge, self.moving.log_odds], "lr": RIDGE_STEP},
            ]
        )

    def run(
        self, n_steps: int, progress: ProgressBar, judge: Callable[[], float] | None = None
    ) -> tuple[tuple[int, float], ...]:
        """So many steps; with a judge, the curve of what it said, and an end once that falls."""
        curve: list[tuple[int, float]] = []
        for step in range(n_steps + 1):
            if step % CHECK_EVERY == 0:
                self.moving.renew_deflation_()
            if judge is not None and step % CHECK_EVERY == 0:
                curve.append((step, judge()))
                best = max(range(len(curve)), key=lambda i: curve[i][1])
                if len(curve) - 1 - best >= PATIENCE:
                    break
            if step < n_steps:
                self.step()
                progress.advance()
        return tuple(curve)

    def judged(self, X: Views, signs: Tensor, score: Score) -> float:
        """How well ridge regression on the map, as it is now, ranks the labels of other samples."""
        with torch.no_grad():
            placed = self.moving.placed()
            _, solution = self._solution(self.moving.features(self.rows, placed))
            scores = self.moving.features(self.moving.blocks_of(X), placed) @ solution
            return score(scores, signs) if scores.isfinite().all() else -inf

    def step(self) -> None:
        phi = self.moving.features(self.rows, self.moving.placed())
        inverse, solution = self._solution(phi)
        leverages = ((phi @ inverse) * phi).sum(1)
        errors = (self.targets - phi @ solution) / (1 - leverages)[:, None]
        self._optimizer.zero_grad()
        errors.square().mean().backward()
        self.moving.step_(self._optimizer)

    def _solution(self, phi: Tensor) -> tuple[Tensor, Tensor]:
        identity = torch.eye(phi.shape[1], dtype=phi.dtype, device=phi.device)
        inverse = torch.linalg.inv(phi.T @ phi + self.log_ridge.exp() * identity)
        return inverse, inverse @ (phi.T @ self.targets)


def kernel_predictions(deep_map: CollapsedMap, X: Views, targets: Tensor) -> Tensor:
    """What ridge regression on the kernel says of every sample from all others: (n, n_targets).

    The ridge is the one of a few with the lowest leave-one-out error; n^3 operations for each.
    """
    gram = deep_map.kernel.tensor(X, X, torch.float32).to(targets)
    size = gram.diagonal().mean().item()
    found = [leave_one_out_residuals(gram, targets, ridge * size) for ridge in RIDGES]
    return targets - min(found, key=lambda residuals: residuals.square().mean().item())
