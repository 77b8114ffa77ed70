"""The unlabelled samples as a collapsed map sees them: kernel values against the landmarks, and among themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt

import torch
from torch import Tensor

from gramless.budget import require, resolve_budget, row_blocks
from gramless.dmn import CollapsedMap
from gramless.maps import Projection
from gramless.progress import ProgressBar
from gramless.tuning.pairs import MIN_SAMPLES, fresh_rows, hold_out
from gramless.tuning.relative_error import held_out_error
from gramless.tuning.result import BestSoFar, TuningResult
from gramless.views import Views

MAX_PAIRS = 4096**2  # of samples that are compared with each other: all of them up to 4,096 samples
BATCH = 600  # samples whose pairs make one step


@dataclass(frozen=True, eq=False)
class TuningSet:
    """kappa(x, S) of every sample, and the Gram matrices of random groups of samples.

    Up to 4,096 samples to fit are one group, and every pair of them is known; more are cut into groups, the smaller the
    more samples there are, down to the 600 of a batch, so that time and memory stay linear in their number.
    """

    responses: Tensor  # (n_train, N)
    groups: list[slice]  # of the rows of `responses`
    grams: list[Tensor]  # one per group
    held_out_responses: Tensor  # (n_held_out, N)
    held_out_gram: Tensor  # (n_held_out, n_held_out)

    def __len__(self) -> int:
        return len(self.responses) + len(self.held_out_responses)

    def error(self, projection: Tensor) -> float:
        """The held-out relative error of the map kappa(x, S) U, in percent."""
        responses = self.held_out_responses
        return held_out_error(responses @ projection.to(responses), self.held_out_gram)

    def features(self, projection: Tensor) -> tuple[Tensor, Tensor]:
        """kappa(x, S) U of the samples to fit and of the held-out ones: (n, n_components) each."""
        projection = projection.to(self.responses)
        return self.responses @ projection, self.held_out_responses @ projection

    def batch(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Row numbers of some samples of one group, and their Gram matrix."""
        group = int(torch.randint(len(self.groups), (), generator=generator))
        rows = self.groups[group]
        drawn = torch.randperm(rows.stop - rows.start, generator=generator)[:BATCH].to(self.responses.device)
        return rows.start + drawn, self.grams[group][drawn][:, drawn]


def conclude(deep_map: CollapsedMap, projection: Projection, samples: TuningSet, best: BestSoFar) -> TuningResult:
    """The map with another projection, judged as it is returned: rounding must not break the promise."""
    before, after = best.curve[0][1], samples.error(projection.matrix)
    if not after < before:
        return TuningResult(deep_map, before, before, best.curve, len(samples))
    return TuningResult(replace(deep_map, projection=projection), before, after, best.curve, len(samples))


def gather(deep_map: CollapsedMap, X: Views, generator: torch.Generator) -> TuningSet:
    """Compute what tuning needs, once: n N + n group / 2 kernel values.

    Landmarks among the samples and repeated samples are left out. If what is left does not fit into the memory budget,
    a random part of it is taken. `group` is n up to 4,096 samples, then 4,096^2 / n down to 600, and less in a small
    memory budget.
    """
    kernel, landmarks, dtype = deep_map.kernel, deep_map.landmarks, deep_map.dtype
    X = kernel.views(X)
    n_landmarks = len(landmarks)
    per_row = 2 * dtype.itemsize * n_landmarks
    # the landmark matrices have their place, and a kernel evaluation may take half of the budget while it runs
    spare = (resolve_budget(kernel.memory_budget) - 6 * 8 * n_landmarks**2) // 2
    require(
        2 * MIN_SAMPLES * per_row,
        max(spare, 0),
        what=f"fine-tuning a map of {n_landmarks:,} landmarks",
        remedy="Use fewer landmarks, or raise memory_budget.",
    )
    split = hold_out(fresh_rows(X, landmarks, dtype), generator)
    n_held_out = min(len(split.held_out), max(2, min(spare // (4 * per_row), isqrt(spare // (8 * dtype.itemsize)))))
    n_train = min(len(split.train), spare // (4 * per_row))
    train, held_out = X[split.train[:n_train]], X[split.held_out[:n_held_out]]
    size = max(2, min(n_train, max(BATCH, MAX_PAIRS // n_train), spare // (4 * dtype.itemsize * n_train)))
    groups = [group for group in row_blocks(n_train, 1, size) if group.stop - group.start > 1]
    device = kernel.compute_device(X)
    pairs = n_train * (n_landmarks + size / 2) + n_held_out * (n_landmarks + n_held_out / 2)
    with ProgressBar("kernel values of the tuning set", pairs) as progress:
        grams = []
        for group in groups:
            samples = train[group]
            grams.append(kernel.tensor(samples, samples, dtype).to(device))
            progress.advance(len(samples) ** 2 / 2)
        responses = deep_map.responses(train).to(device)
        progress.advance(responses.numel())
        held_out_responses = deep_map.responses(held_out).to(device)
        held_out_gram = kernel.tensor(held_out, held_out, dtype).to(device)
    return TuningSet(responses, groups, grams, held_out_responses, held_out_gram)
