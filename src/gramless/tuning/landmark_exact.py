"""A tuned map under which landmarks keep vectors of their own, and with them their exact rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gramless.checks import check_array
from gramless.dkn import DeepKernel
from gramless.dmn import CollapsedMap
from gramless.engine import Plan
from gramless.tuning.known_rows import KnownRows
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class LandmarkExactMap:
    """phi(x) = kappa(x, S) U for a new sample, and a vector of its own for each landmark.

    A tuned U is made for samples that are not landmarks. kappa(x_i, S) U of a landmark holds kappa(x_i, x_i), which no
    new sample shows, and comes out too large. With row i of U^-T instead,

        <phi(x), phi(x_i)>   = kappa(x, S) U U^-1 e_i = kappa(x, x_i)  for every sample x that is not a landmark,
        <phi(x_i), phi(x_j)> = [(U U')^-1]_ij,

    so a landmark's row is exact but for its entries at other landmarks, and those are exact too for i != j where U
    comes from a deflation alone, (U U')^-1 = K_SS - s diag(d). Fewer components than landmarks make it a least squares
    fit. A sample is a landmark if all its features are the landmark's, to the last bit of the map's type. Beside the
    collapsed map's cost a few features of every sample are read once more (see KnownRows).
    """

    collapsed: CollapsedMap
    vectors: Tensor  # (N, n_components), float64

    def __post_init__(self) -> None:
        check_array("the vectors of landmarks", self.vectors, self.collapsed.projection.matrix.shape)

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

    def plan(self, n_samples: int, device: torch.device) -> Plan:
        """How so many samples are transformed."""
        return self.collapsed.plan(n_samples, device)

    @cached_property
    def _known(self) -> KnownRows:
        return KnownRows(self.landmarks, self.collapsed.dtype)

    def transform(self, X: Views) -> Tensor:
        """phi(x): (n, n_components), where the caller's data lies."""
        phi = self.collapsed.transform(X)
        landmark = self._known.find(X)  # (n,): -1 for a new sample
        rows = (landmark >= 0).nonzero()[:, 0]
        phi[rows.to(phi.device)] = self.vectors[landmark[rows]].to(phi)
        return phi


def exact_landmarks(deep_map: CollapsedMap) -> LandmarkExactMap:
    """The same map for new samples, with exact rows for the landmarks: one N x n_components pseudo-inverse."""
    return LandmarkExactMap(deep_map, torch.linalg.pinv(deep_map.projection.matrix).T.contiguous())
