"""DeepMapRegressor: a deep kernel network, compiled into an explicit map, and ridge regression on its vectors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from gramless.blocks import Block, Blocks
from gramless.deep_kernel import DeepKernel
from gramless.estimators.automatic_tuning import built_map, unfitted_map
from gramless.estimators.deep_map_network import DeepMapNetwork, landmark_rows
from gramless.estimators.distinct import DistinctSamples
from gramless.estimators.features import OnMap
from gramless.estimators.first_look import check_domains, first_look
from gramless.estimators.fitted_html import Fact, landmark_facts
from gramless.estimators.given_kernel import KERNEL
from gramless.estimators.inputs import seed_from, views_to_fit
from gramless.estimators.numbers import Numbers, TargetScale, as_numbers, block_numbers
from gramless.estimators.parameters import MAP_CONSTRAINTS
from gramless.estimators.regressor import RIDGE, ViewsRegressor
from gramless.heads.ridge_path import MapRidgePath, Moments
from gramless.maps.tuning import TUNERS
from gramless.support.checks import INPUT, Constraints, StrOptions
from gramless.support.config import get_config
from gramless.support.threads import threads_for
from gramless.views import Views, is_multiview


class DeepMapRegressor(OnMap, ViewsRegressor):
    """A deep kernel network, compiled into an explicit map, and ridge regression on its vectors.

    Linear in the number of samples, in time and in memory; data in blocks is read twice.

    Parameters
    ----------
    kernel : DeepKernelNetwork, DeepKernel, FrozenEstimator or None
        A network, which is cloned and fitted here by the leave-one-out error of ridge regression; a kernel, or a frozen
        network, that is used as it is; None is a DeepKernelNetwork as it comes.
    n_landmarks, landmarks, n_components
        The map, as in DeepMapNetwork.
    tuning : "auto", None, "landmarks", "algorithm1"
        How the map is fine-tuned on the training samples, as in DeepMapNetwork. "auto" moves the landmarks, as far as
        held-out samples come closer to their kernel values; no target is looked at. With fewer than 50 samples besides
        the landmarks, or kernels that have no gradient, the map stays as it is compiled.
    alpha : "auto" or float
        Strength of the ridge, added to the diagonal of phi'phi, for targets that are standardised. "auto" takes the one
        with the least leave-one-out error, for each target.
    views : mapping of names to columns, or None
        As in DeepKernelNetwork.
    random_state
        As in DeepKernelNetwork; a network without one of its own is seeded from this one.

    Attributes
    ----------
    map_network_ : DeepMapNetwork
        The fitted map; its `kernel_` is the network.
    alpha_ : array (n_targets,)
    alpha_curve_ : array (n_alphas, 1 + n_targets)
        Strengths, and the mean squared leave-one-out error of every (standardised) target.
    ridge_, uncertainty_, targets_
        The solution, what is not known of new numbers, and the scale of the targets.
    importances_ : Importances
        Shares of views and kernels in the answers for each target, computed when they are first asked for.
        After Algorithm 1 there are none.
    """

    _parameter_constraints: ClassVar[Constraints] = (
        KERNEL | MAP_CONSTRAINTS | RIDGE | INPUT | {"tuning": [StrOptions({"auto", *TUNERS}), None]}
    )

    def __init__(
        self,
        kernel: Any = None,
        n_landmarks: int | str = "auto",
        *,
        landmarks: Any = "uniform",
        n_components: int | None = None,
        tuning: str | None = "auto",
        alpha: float | str = "auto",
        views: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_components = n_components
        self.tuning = tuning
        self.alpha = alpha
        self.views = views
        self.random_state = random_state

    def _fit(self, samples: DistinctSamples, given: Views) -> None:
        standard = self.targets_.standard(samples.targets)
        self._fit_map(samples.views, standard, given)
        phi = self._features(samples.views)
        moments = Moments.of(phi, standard, samples.weights)
        self._solve_on(moments, samples.views, phi, standard, samples.weights)

    def _fit_map(self, views: Views, standard: np.ndarray, given: Views) -> None:
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=2).tolist()
        landmarks = self.landmarks
        if not (isinstance(landmarks, str) or is_multiview(landmarks)):
            landmarks = given[landmark_rows(landmarks, len(given))]
        network, automatic = unfitted_map(self, landmarks), self.tuning == "auto"
        with threads_for(len(views)):
            built = built_map(network, views, Numbers(standard), None, None, seeds, automatic, get_config())
        self.map_network_ = built[0]

    def _solve_on(
        self, moments: Moments, views: Views, phi: np.ndarray, standard: np.ndarray, weights: np.ndarray
    ) -> None:
        """From the moments of all samples, and some samples with their vectors, each of which is left out in turn."""
        path = MapRidgePath.of(moments, phi, standard, weights)
        diagonal = self._diagonal(views)
        hidden = np.maximum(diagonal - np.square(phi).sum(1), 0.0)
        self._solve(path, weights, diagonal, hidden, views.dtype)

    def _fit_blocks(self, blocks: Blocks) -> None:
        """The map on a sample; then the moments of all samples in one pass, of which those of the sample are left out.

        A sample's residual is that of the ridge regression on all other samples, not only on those of the sample.
        """
        n_looked_at = unfitted_map(self, self.landmarks).sample_size()
        look = first_look(blocks, n_looked_at, seed_from(self.random_state), numbers=True)
        views, y = views_to_fit(self, look.sample.views), as_numbers(look.sample.labels)
        weights = np.ones(len(views))
        self.targets_ = TargetScale.of(y, weights)
        standard = self.targets_.standard(y)
        self._fit_map(views, standard, views)
        check_domains(self.map_network_.kernel_, look)
        moments = blocks.total(partial(_moments, self.map_network_, self.targets_), "ridge regression on all samples")
        self._solve_on(moments, views, self._features(views), standard, weights)

    def _network_facts(self) -> tuple[DeepKernel, list[Fact]]:
        return self.map_network_.kernel_, landmark_facts(self.map_network_)

    def _features(self, views: Views) -> np.ndarray:
        return self.map_network_.map_.transform(views).double().cpu().numpy()

    def _diagonal(self, views: Views) -> np.ndarray:
        return self.map_network_.kernel_.diagonal_tensor(views).double().cpu().numpy()


def _moments(network: DeepMapNetwork, targets: TargetScale, block: Block) -> Moments:
    return Moments.of(network.transform(block.views), targets.standard(block_numbers(block)), np.ones(len(block)))
