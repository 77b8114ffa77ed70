"""What heads take for features: kernel values against support samples, or the vectors of a map."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from gramless.blocks import Blocks
from gramless.deep_kernel import DeepKernel
from gramless.estimators.deep_map_network import DeepMapNetwork
from gramless.estimators.fitted_html import Fact
from gramless.estimators.importances import Expansion, Explained
from gramless.maps import CollapsedMap
from gramless.support.budget import require
from gramless.support.config import current_budget
from gramless.views import Views, check_layout


class OnSupport(Explained):
    """A model on kernel values against samples that it holds."""

    linear: ClassVar[str]
    """The estimator to use instead where there are too many samples."""

    kernel_: DeepKernel
    support_: Views

    def _require_matrices(self, n_matrices: int, n: int, what: str) -> None:
        """Refuse samples whose kernel matrix, and as many more of its size in float64, do not fit."""
        require(
            n_matrices * 8 * n**2,
            current_budget(),
            what=f"{what} on the {n:,} x {n:,} kernel matrix",
            remedy=f"Use {self.linear}, whose cost is linear, or raise memory_budget.",
        )

    def _fit_blocks(self, blocks: Blocks) -> NoReturn:
        raise ValueError(
            "a kernel machine needs the kernel matrix of all samples, and data in blocks is larger than that. Use "
            f"{self.linear}, whose cost is linear."
        )

    def check_fitted(self) -> None:
        super().check_fitted()
        check_layout(self.layout_, self.kernel_.layout)
        self.kernel_.check_samples(self.support_)

    @property
    def _n_features(self) -> int:
        return len(self.support_)

    def known_samples(self) -> Views:
        return self.support_

    def _expansion(self) -> Expansion:
        return Expansion(self.kernel_, self.support_, self._answers[0].coefficients)

    def _network_facts(self) -> tuple[DeepKernel, list[Fact]]:
        return self.kernel_, [("support samples", f"{len(self.support_):,}")]


class OnMap(Explained):
    """A model on the vectors of a map."""

    map_network_: DeepMapNetwork

    def check_fitted(self) -> None:
        self._check_layout(self.map_network_.layout_)
        super().check_fitted()

    @property
    def _n_features(self) -> int:
        return self.map_network_.map_.n_components

    def known_samples(self) -> Views:
        return self.map_network_.known_samples()

    def _expansion(self) -> Expansion:
        """<w, phi(x)> = sum_j (U w)_j kappa(x, z_j) of coefficients w (n_labels, n_components)."""
        deep_map = self.map_network_.map_
        if not isinstance(deep_map, CollapsedMap):  # AttributeError, as of any attribute that a model does not have
            raise AttributeError(
                f"decisions on a {type(deep_map).__name__} are no sums of kernel values: kernels have no shares in "
                "them. Ask permutation_importances, or use another tuning than 'algorithm1', which makes such maps."
            )
        projection = deep_map.projection.matrix.double().cpu().numpy()
        return Expansion(deep_map.kernel, deep_map.landmarks, self._answers[0].coefficients @ projection.T)
