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
from gramless.tuning.pairs import MIN_SAMPLES, fresh_rows, hold_out, judges
from gramless.tuning.relative_error import held_out_error
from gramless.tuning.result import BestSoFar, TuningResult
from gramless.views import Views

MAX_PAIRS = 4096**2  # of samples that are compared with each other: all of them up to 4,096 samples
BATCH = 600  # samples whose pairs make one step


@dataclass(frozen=True, eq=False)
class HeldOut:
    """kappa(x, S) of the samples to judge by, and their Gram matrix."""

    responses: Tensor  # (n, N)
    gram: Tensor  # (n, n)

    def __len__(self) -> int:
        return len(self.responses)

    def features(self, projection: Tensor) -> Tensor:
        """kappa(x, S) U: (n, n_components)."""
        return self.responses @ projection.to(self.responses)

    def error(self, projection: Tensor) -> float:
        """The relative error of the map kappa(x, S) U, in percent."""
        return held_out_error(self.features(projection), self.gram)


@dataclass(frozen=True, eq=False)
class TuningSet:
    """kappa(x, S) of every sample to fit, the Gram matrices of random groups of them, and the samples to judge by.

    Up to 4,096 samples to fit are one group, and every pair of them is known; more are cut into groups, the smaller the
    more samples there are, down to the 600 of a batch, so that time and memory stay linear in their number.
    """

    responses: Tensor  # (n_train, N)
    groups: list[slice]  # of the rows of `responses`
    grams: list[Tensor]  # one per group
    held_out: HeldOut

    def __len__(self) -> int:
        return len(self.responses) + len(self.held_out)

    def features(self, projection: Tensor) -> Tensor:
        """kappa(x, S) U of the samples to fit: (n_train, n_components)."""
        return self.responses @ projection.to(self.responses)

    def batch(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Row numbers of some samples of one group, and their Gram matrix."""
        group = int(torch.randint(len(self.groups), (), generator=generator))
        rows = self.groups[group]
        drawn = torch.randperm(rows.stop - rows.start, generator=generator)[:BATCH].to(self.responses.device)
        return rows.start + drawn, self.grams[group][drawn][:, drawn]


def conclude(deep_map: CollapsedMap, projection: Projection, samples: TuningSet, best: BestSoFar) -> TuningResult:
    """The map with another projection, judged as it is returned: rounding must not break the promise."""
    before, after = best.curve[0][1], samples.held_out.error(projection.matrix)
    if not after < before:
        return TuningResult(deep_map, before, before, best.curve, len(samples))
    return TuningResult(replace(deep_map, projection=projection), before, after, best.curve, len(samples))


def gather(deep_map: CollapsedMap, X: Views, generator: torch.Generator) -> TuningSet:
    """Compute what tuning needs, once: n N + n group / 2 kernel values.

    Landmarks among the samples and repeated samples are left out. If what is left does not fit into the memory budget,
    a random part of it is taken. `group` is n up to 4,096 samples, then 4,096^2 / n down to 600, and less in a small
    memory budget.
    """
    kernel, dtype = deep_map.kernel, deep_map.dtype
    X = kernel.views(X)
    spare = spare_bytes(deep_map)
    split = hold_out(fresh_rows(X, deep_map.landmarks, dtype), generator)
    n_train = min(len(split.train), spare // (4 * bytes_per_sample(deep_map)))
    train = X[split.train[:n_train]]
    size = max(2, min(n_train, max(BATCH, MAX_PAIRS // n_train), spare // (4 * dtype.itemsize * n_train)))
    groups = [group for group in row_blocks(n_train, 1, size) if group.stop - group.start > 1]
    device = kernel.compute_device(X)
    with ProgressBar("kernel values of the tuning set", n_train * (len(deep_map.landmarks) + size / 2)) as progress:
        grams = []
        for group in groups:
            samples = train[group]
            grams.append(kernel.tensor(samples, samples, dtype).to(device))
            progress.advance(len(samples) ** 2 / 2)
        responses = deep_map.responses(train).to(device)
        progress.advance(responses.numel())
    return TuningSet(responses, groups, grams, _held_out(deep_map, X, split.held_out, spare))


def gather_held_out(deep_map: CollapsedMap, X: Views, generator: torch.Generator) -> HeldOut:
    """Samples to judge by alone: up to 500 of X, and with nothing to fit there is no need for fewer.

    Landmarks and repeated samples are left out, and what the memory budget has no room for.
    n (N + n / 2) kernel values.
    """
    X = deep_map.kernel.views(X)
    spare = spare_bytes(deep_map)
    return _held_out(deep_map, X, judges(fresh_rows(X, deep_map.landmarks, deep_map.dtype), generator), spare)


def bytes_per_sample(deep_map: CollapsedMap) -> int:
    """kappa(x, S) and phi(x)."""
    return 2 * deep_map.dtype.itemsize * len(deep_map.landmarks)


def spare_bytes(deep_map: CollapsedMap) -> int:
    """What the memory budget leaves for samples; an error where that is too little for any."""
    n_landmarks, budget = len(deep_map.landmarks), resolve_budget(deep_map.kernel.memory_budget)
    # the landmark matrices have their place, and a kernel evaluation may take half of the budget while it runs
    spare = max((budget - 6 * 8 * n_landmarks**2) // 2, 0)
    require(
        2 * MIN_SAMPLES * bytes_per_sample(deep_map),
        spare,
        what=f"fine-tuning a map of {n_landmarks:,} landmarks",
        remedy="Use fewer landmarks, or raise memory_budget.",
    )
    return spare


def _held_out(deep_map: CollapsedMap, X: Views, rows: Tensor, spare: int) -> HeldOut:
    """As many of the rows as a quarter of the spare memory holds the vectors of, and an eighth the pairs of."""
    kernel, dtype = deep_map.kernel, deep_map.dtype
    room = min(spare // (4 * bytes_per_sample(deep_map)), isqrt(spare // (8 * dtype.itemsize)))
    samples = X[rows[: max(2, room)]]
    device = kernel.compute_device(X)
    return HeldOut(deep_map.responses(samples).to(device), kernel.tensor(samples, samples, dtype).to(device))
