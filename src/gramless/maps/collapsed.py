"""The collapsed DMN: kappa(x, S) U, the whole initial network in one projection.

What a map has made of its landmarks is kept from one call to the next: most of the time that one sample would take.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import Evaluator, Overflow, Plan, RowSink, choose_device, choose_precision, finite, response_blocks
from gramless.maps.spectrum import Projection, project, warn_if_clipped
from gramless.support.budget import require
from gramless.support.checks import check_array
from gramless.support.config import current_budget, get_config
from gramless.support.progress import ProgressBar
from gramless.views import Views

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
    _prepared: ClassVar[Prepared]  # set on every instance, but no field: not stored, and no part of what the map is

    def __post_init__(self) -> None:
        check_array("the projection of a map", self.projection.matrix, (len(self.landmarks), None))
        self.kernel.check_samples(self.landmarks)
        object.__setattr__(self, "_prepared", Prepared())

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
            return finite((ready.evaluator.values(X) @ ready.matrix).to(place))
        output = torch.empty(len(X), self.n_components, dtype=self.dtype, device=place)
        plan, overflow = self.plan(len(X), device, streamed=place != device), Overflow()
        with RowSink(output) as sink, ProgressBar("deep map", len(X)) as progress:
            for rows, responses in response_blocks(plan, X, self.landmarks, ready.evaluator_for, self.dtype, device):
                if place == device:
                    vectors = torch.mm(responses, ready.matrix, out=output[rows])
                else:
                    vectors = responses @ ready.matrix
                    sink.put(rows, vectors)
                overflow.watch(vectors)
                progress.advance(rows.stop - rows.start)
        overflow.refuse()
        return output

    def _ready(self, device: torch.device) -> Ready:
        """What is the same for all samples, from the last time if that was on this device, as exact, as much memory."""

        def prepare() -> Ready:
            matrix = self.projection.matrix.to(device=device, dtype=self.dtype)
            return Ready(self.kernel, self.landmarks, self.dtype, device, matrix, self.plan(FEW, device))

        return self._prepared.get((device, choose_precision(device), get_config()["memory_budget"]), prepare)

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


FEW = 32  # samples that need no plan: they are one block, unless memory is short


class Ready:
    """The projection where it is used, and what evaluates the kernel against all landmarks, made when first asked for.

    plan : of a few samples
    """

    def __init__(
        self,
        kernel: DeepKernel,
        landmarks: Views,
        dtype: torch.dtype,
        device: torch.device,
        matrix: Tensor,
        plan: Plan,
    ) -> None:
        self.matrix = matrix
        self._kernel, self._landmarks, self._dtype, self._device = kernel, landmarks, dtype, device
        one_tile = plan.columns_per_block == len(landmarks)
        self.n_at_once = plan.rows_per_block if one_tile else 0

    @cached_property
    def evaluator(self) -> Evaluator:
        return self._kernel.evaluator(self._landmarks, self._dtype, self._device)

    def evaluator_for(self, tile: Views) -> Evaluator:
        """That of all landmarks is kept; that of some, where all prepared together would not fit, is not."""
        if len(tile) == len(self._landmarks):
            return self.evaluator
        return self._kernel.evaluator(tile, self._dtype, self._device)


class Prepared:
    """One value by its key; another key replaces it.

    Threads share it without a lock, which a forked child might find locked for ever: two that come first both prepare,
    and either result will do. It does not travel: a copy elsewhere prepares its own.
    """

    def __init__(self) -> None:
        self._kept: tuple[Hashable, Any] | None = None

    def get(self, key: Hashable, prepare: Callable[[], Any]) -> Any:
        kept = self._kept
        if kept is None or kept[0] != key:
            self._kept = kept = key, prepare()
        return kept[1]

    def __reduce__(self) -> tuple[type[Prepared], tuple[()]]:
        return Prepared, ()
