"""The collapsed DMN: kappa(x, S) U, the whole initial network in one projection."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.budget import require, resolve_budget, row_blocks
from gramless.dkn import DeepKernel
from gramless.maps import Projection, project, warn_if_clipped
from gramless.progress import ProgressBar
from gramless.views import Views


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
        place = X.torch_device or torch.device("cpu")
        output = torch.empty(len(X), self.n_components, dtype=self.dtype, device=place)
        matrix = self.projection.matrix.to(device=place, dtype=self.dtype)
        per_row = self.dtype.itemsize * (len(self.landmarks) + self.n_components)
        budget = resolve_budget(self.kernel.memory_budget)
        with ProgressBar("deep map", len(X)) as progress:
            for rows in row_blocks(len(X), per_row, min(budget // 4, 64 << 20)):
                torch.mm(self.responses(X[rows]), matrix, out=output[rows])
                progress.advance(rows.stop - rows.start)
        return output


def collapse(kernel: DeepKernel, landmarks: Views, n_components: int | None, dtype: torch.dtype) -> CollapsedMap:
    """Compile a DKN on landmarks: one N x N Gram matrix and its eigendecomposition, both in float64."""
    n_landmarks = len(landmarks)
    require(
        4 * 8 * n_landmarks**2,
        resolve_budget(kernel.memory_budget),
        what=f"the eigendecomposition of {n_landmarks:,} landmarks",
        remedy="Use fewer landmarks, or raise memory_budget.",
    )
    projection = project(kernel.tensor(landmarks, landmarks, torch.float64), n_components, dtype)
    warn_if_clipped(projection, "the deep kernel on the landmarks")
    return CollapsedMap(kernel, landmarks, projection, dtype)
