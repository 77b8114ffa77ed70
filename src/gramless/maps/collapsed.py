"""The collapsed DMN: kappa(x, S) U, the whole initial network in one projection.

What a map has made of its landmarks is kept from one call to the next: most of the time that one sample would take.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import (
    Evaluator,
    Overflow,
    Plan,
    RowSink,
    choose_device,
    choose_precision,
    finite,
    new_rows,
    projected_blocks,
    settle,
)
from gramless.maps.spectrum import Projection, project, warn_if_clipped
from gramless.support.budget import require
from gramless.support.checks import check_array
from gramless.support.config import current_budget, get_config
from gramless.support.progress import ProgressBar
from gramless.views import Views

FEW = 32  # samples that need no plan: they are one block, unless memory is short
BYTES_PER_PAIR = 4 * 8  # of landmarks, while a map is compiled: the Gram matrix and its eigendecomposition


@dataclass(frozen=True, eq=False)
class CollapsedMap:
    """phi(x) = kappa(x, S) U.

    With the same landmarks at every layer and nothing truncated, <phi_p(x), phi_p(x_i)> = kappa_p(x, x_i) for every
    unit p, every sample x and every landmark x_i: a row of the Gram matrix times its pseudo-inverse times a column
    of it. The projections of hidden layers then cancel against the next layer's anchors, and the layered network
    equals this map. Where a hidden Gram matrix is indefinite they differ by what was clipped there; this map clips
    nothing but the output's spectrum, and is the closer of the two to the DKN.

    Per sample: n_kernels N kernel values, n_units n_kernels N multiply-adds, N n_components for the projection.
    """

    kernel: DeepKernel
    landmarks: Views
    projection: Projection
    dtype: torch.dtype

    def __post_init__(self) -> None:
        check_array("the projection of a map", self.projection.matrix, (len(self.landmarks), None))
        self.kernel.check_samples(self.landmarks)

    def __repr__(self) -> str:
        return f"CollapsedMap({len(self.landmarks)} landmarks, {self.n_components} components, {self.kernel})"

    @property
    def n_components(self) -> int:
        return self.projection.matrix.shape[1]

    @property
    def clipped_mass(self) -> list[list[float]]:
        """Per layer and unit, the share of the spectrum that was clipped; here of the output alone."""
        return [[self.projection.clipped_mass]]

    def responses(self, X: Views) -> Tensor:
        """kappa(x, S): (n, N)."""
        return self.kernel.tensor(X, self.landmarks, self.dtype)

    def transform(self, X: Views) -> Tensor:
        """phi(x): (n, n_components), where the caller's data lies."""
        place, device = X.torch_device or torch.device("cpu"), choose_device(X)
        ready = self._ready(device)
        if len(X) <= ready.n_at_once:
            few = finite(ready.evaluator.projected(X, ready.matrix))
            return few if place == device else few.to(place)
        output = new_rows(len(X), self.n_components, self.dtype, place)
        plan, overflow = self.plan(len(X), device, streamed=place != device), Overflow()
        with RowSink(output) as sink, ProgressBar("deep map", len(X)) as progress:
            blocks = projected_blocks(plan, X, self.landmarks, ready.evaluator_for, ready.matrix, self.dtype, device)
            for rows, vectors in blocks:
                sink.put(rows, vectors)
                overflow.watch(vectors)
                progress.advance(rows.stop - rows.start)
        overflow.refuse()
        return output

    def _ready(self, device: torch.device) -> Ready:
        """What is the same for all samples, from the last time if that was on this device, as exact, as much memory."""
        key = device, choose_precision(device), get_config()["memory_budget"]
        kept = _READY.get(self)
        if kept is None or kept[0] != key:
            kept = _READY[self] = key, Ready(self, device)
        return kept[1]

    def plan(self, n_samples: int, device: torch.device, *, streamed: bool = False) -> Plan:
        """How so many samples are transformed."""
        return self.kernel.plan(
            n_samples, len(self.landmarks), self.dtype, device, n_components=self.n_components, streamed=streamed
        )


def collapse(kernel: DeepKernel, landmarks: Views, n_components: int | None, dtype: torch.dtype) -> CollapsedMap:
    """Compile a DKN on landmarks: one N x N Gram matrix in the type of the map, its eigendecomposition in float64."""
    n_landmarks = len(landmarks)
    require(
        BYTES_PER_PAIR * n_landmarks**2,
        current_budget(),
        what=f"the eigendecomposition of {n_landmarks:,} landmarks",
        remedy="Use fewer landmarks, or raise memory_budget.",
    )
    projection = project(kernel.tensor(landmarks, landmarks, dtype), n_components, dtype)
    warn_if_clipped(projection, "the deep kernel on the landmarks")
    return CollapsedMap(kernel, landmarks, projection, dtype)


class Ready:
    """The projection where it is used, and what evaluates the kernel against all landmarks, made when asked for."""

    def __init__(self, deep_map: CollapsedMap, device: torch.device) -> None:
        matrix = deep_map.projection.matrix.to(device=device, dtype=deep_map.dtype)
        self.matrix = matrix.T.contiguous().T  # its columns are read
        settle(device)
        self._landmarks = deep_map.landmarks
        self._evaluator_of = partial(deep_map.kernel.evaluator, dtype=deep_map.dtype, device=device)
        plan = deep_map.plan(FEW, device)
        self.n_at_once = plan.rows_per_block if plan.columns_per_block == len(self._landmarks) else 0

    @cached_property
    def evaluator(self) -> Evaluator:
        return self._evaluator_of(self._landmarks)

    def evaluator_for(self, tile: Views) -> Evaluator:
        """That of all landmarks is kept; that of some, where all prepared together would not fit, is not."""
        return self.evaluator if len(tile) == len(self._landmarks) else self._evaluator_of(tile)


_READY: WeakKeyDictionary[CollapsedMap, tuple[Hashable, Ready]] = WeakKeyDictionary()
"""Of every map the last one, and what it was made for: no part of the map, not in files, not in copies.

Threads share it without a lock, which a forked child might find locked for ever: two that come first both prepare, and
either result will do.
"""
