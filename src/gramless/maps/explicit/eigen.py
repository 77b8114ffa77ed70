"""The eigendecomposition (Nystrom) map of any kernel: phi(x) = k(x, S) U (Eqs. 6 and 7 with l = 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor

from gramless.kernels import Kernel
from gramless.maps.explicit.base import Bounds, ExplicitMap, MapRecipe, refuse_conditional
from gramless.maps.explicit.spectrum import Projection, project, warn_if_clipped
from gramless.support.budget import require
from gramless.support.checks import Constraints, whole
from gramless.support.config import current_budget


@dataclass(frozen=True)
class Eigen(MapRecipe):
    """Exact on the landmarks; `n_components` keeps the largest eigenvalues only."""

    n_components: int | None = None

    _parameter_constraints: ClassVar[Constraints] = {"n_components": [whole(1), None]}

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> EigenMap:
        refuse_conditional([kernel], "an eigendecomposition of one kernel")
        require(
            3 * len(landmarks) ** 2 * 8,
            current_budget(),
            what=f"the eigendecomposition of {len(landmarks)} landmarks",
            remedy="Use fewer landmarks, or raise memory_budget.",
        )
        exact = landmarks.double()
        projection = project(kernel.pairwise(exact, exact), self.n_components, landmarks.dtype)
        warn_if_clipped(projection, f"the {kernel.name} kernel on the landmarks")
        return EigenMap(kernel, landmarks, projection)


@dataclass(frozen=True, eq=False)
class EigenMap(ExplicitMap):
    kernel: Kernel
    landmarks: Tensor  # (N, d)
    projection: Projection

    @property
    def n_columns(self) -> int:
        return self.projection.matrix.shape[1]

    def transform(self, x: Tensor) -> Tensor:
        return self.kernel.pairwise(x, self.landmarks.to(x)) @ self.projection.matrix.to(x)
