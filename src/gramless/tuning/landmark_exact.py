"""A deflated map under which landmarks keep vectors of their own, and with them their exact rows."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gramless.dkn import DeepKernel
from gramless.dmn import CollapsedMap
from gramless.tuning.pairs import find_rows
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class LandmarkExactMap:
    """phi(x) = kappa(x, S) U for a new sample, and row i of U^-T for landmark i, with U U' = (K_SS - s diag(d))^-1.

    Then <phi(x), phi(x_i)> = kappa(x, S) U U^-1 e_i = kappa(x, x_i) for every sample x and every landmark x_i, and
    <phi(x_i), phi(x_j)> = [K_SS - s diag(d)]_ij = kappa(x_i, x_j) for i != j, if nothing was truncated. A sample is a
    landmark if all its features are the landmark's, to the last bit of the map's type. Beside the collapsed map's cost
    every sample is hashed once.
    """

    collapsed: CollapsedMap

    @property
    def kernel(self) -> DeepKernel:
        return self.collapsed.kernel

    @property
    def landmarks(self) -> Views:
        return self.collapsed.landmarks

    @property
    def n_components(self) -> int:
        return self.collapsed.n_components

    @property
    def clipped_mass(self) -> list[list[float]]:
        return self.collapsed.clipped_mass

    def responses(self, X: Views) -> Tensor:
        """kappa(x, S): (n, N)."""
        return self.collapsed.responses(X)

    def transform(self, X: Views) -> Tensor:
        """phi(x): (n, n_components), where the caller's data lies."""
        phi = self.collapsed.transform(X)
        landmark = find_rows(X, self.landmarks, self.collapsed.dtype)  # (n,): -1 for a new sample
        rows = (landmark >= 0).nonzero()[:, 0]
        vectors = self.collapsed.projection.landmark_map[landmark[rows]]
        phi[rows.to(phi.device)] = vectors.to(phi)
        return phi
