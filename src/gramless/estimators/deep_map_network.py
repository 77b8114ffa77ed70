"""DeepMapNetwork: from samples to explicit vectors whose inner products are a deep kernel's values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from gramless.blocks import Blocks
from gramless.deep_kernel import DeepKernel
from gramless.engine import Plan, choose_device
from gramless.errors import DataError
from gramless.estimators.block_inputs import answered, blocks_to_fit, blocks_to_use
from gramless.estimators.first_look import check_domains, first_look
from gramless.estimators.fitted import FittedOnViews, fitted_in_one_step
from gramless.estimators.given_kernel import KERNEL, describe, fitted_kernel, learning_of, network_to_fit
from gramless.estimators.inputs import (
    generator_from,
    like_input,
    remember_layout,
    seed_from,
    views_to_fit,
    views_to_use,
)
from gramless.estimators.landmark_number import MOST_SAMPLES, OF_MORE, Curve, choose_number, number_of, wished_error
from gramless.estimators.parameters import MAP_CONSTRAINTS
from gramless.maps import CollapsedMap, DeepMap, collapse
from gramless.maps.landmarks import SELECTORS
from gramless.maps.spectrum import warn_if_clipped
from gramless.maps.tuning import TUNERS
from gramless.support.checks import INPUT, Constraints, check_array
from gramless.support.config import current_budget
from gramless.support.threads import threads_for
from gramless.views import Views, is_multiview
from gramless.views.arrays import refuse_masked

SAMPLES_PER_LANDMARK = 10  # drawn from data in blocks for each landmark that is chosen among them


class DeepMapNetwork(FittedOnViews, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A deep kernel network compiled into an explicit map (section 3 of the paper).

    The paper unfolds every layer into three sub-layers. Where nothing is truncated or quantised inside, one projection
    of the kernel's values against the landmarks is the same map at a fraction of the cost, and that is what this is;
    `gramless.maps.layered_map` unfolds the layers.

    Parameters
    ----------
    kernel : DeepKernel, DeepKernelNetwork, FrozenEstimator or None
        What to compile. A network is cloned and fitted here, unless it is frozen; None is a DeepKernelNetwork as it
        comes. To search over a network's parameters (`kernel__hidden`), give one.
    n_landmarks : int, "auto", or an error such as "1%"
        Samples that stand for the data, all where there are fewer; more are better and cost linearly in transform,
        cubically in fit. "auto" is all of up to 2,500 samples, and 500 of more. Of an error, as few as reach it: the
        relative error of the map on held-out samples, as compiled; tuning keeps only maps that are closer still on
        samples that it holds out. Where it cannot be reached, the closest map is taken, and a warning says what
        stopped it.
    landmarks : "uniform", "kmeans", "rpcholesky", "leverage", row numbers, or Views
        How the landmarks are chosen, or the landmarks themselves.
    n_components : int or None
        Columns of the map: the largest eigenvalues of the landmark Gram matrix. None keeps all.
    tuning : None, "landmarks", "algorithm1"
        How the map is fine-tuned on the training samples, without their labels, so that it stays true away from the
        landmarks; a map with a higher error on held-out samples is never kept. "landmarks" moves the landmarks, which
        need not be samples; "algorithm1" is the paper's. None leaves the map as it is compiled.
    views, random_state
        As in DeepKernelNetwork; a network without a random_state of its own is seeded from this one.

    Attributes
    ----------
    kernel_ : DeepKernel
    map_ : CollapsedMap, or RepresenterMap after Algorithm 1
    landmarks_ : Views
        As they are after tuning.
    drawn_landmarks_ : Views, or None where there is one view
        As they were before: samples, from which others that lack a view are completed.
    landmark_indices_ : array of int, or None where landmarks were given as samples
        The samples that they started from.
    n_landmarks_ : int
    landmark_curve_ : tuple of (n_landmarks, relative error in percent, operations per sample), or None
        Of an error in n_landmarks, the maps that the number was chosen from, fewest landmarks first; None of a number.
    clipped_mass_ : list of lists
        Per layer of the map and unit, the share of the spectrum that was negative and had to be clipped.
    tuning_errors_ : (before, after), or None
        Relative errors on held-out samples of the tuning set, in percent.

    The map works in float64 if any view of the training data needs it, and in float32 otherwise.
    """

    kernel_: DeepKernel
    map_: DeepMap
    landmarks_: Views
    drawn_landmarks_: Views | None
    landmark_indices_: np.ndarray | None
    n_landmarks_: int
    landmark_curve_: Curve | None
    clipped_mass_: list[list[float]]
    tuning_errors_: tuple[float, float] | None
    _n_features_out: int

    _parameter_constraints: ClassVar[Constraints] = KERNEL | MAP_CONSTRAINTS | INPUT

    def __init__(
        self,
        kernel: Any = None,
        n_landmarks: int | str = 500,
        *,
        landmarks: Any = "uniform",
        n_components: int | None = None,
        tuning: str | None = None,
        views: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_components = n_components
        self.tuning = tuning
        self.views = views
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks and compile; y goes to an unfitted kernel network and nowhere else.

        Of data in blocks (in_blocks) a sample is drawn, in one pass; landmarks and all that fit settles come from it.
        """
        blocks = blocks_to_fit(self, X, y)
        with fitted_in_one_step(self) as fresh:
            if blocks is None:
                views = views_to_fit(fresh, X)
                with threads_for(len(views)):
                    fresh._fit(views, y)
            else:
                fresh._fit_sample(blocks)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_views(self, views: Views) -> Self:
        """As `fit`, on views that an estimator around this one has checked."""
        self._fit(remember_layout(self, views), None)
        return self

    def _fit(self, views: Views, y: Any) -> None:
        generator = generator_from(self.random_state)
        self.kernel_ = fitted_kernel(self.kernel, views, y, self.random_state)
        views = views.match(self.kernel_.layout)
        wished = wished_error(self.n_landmarks)
        if wished is None:
            self.landmark_curve_ = None
            self.landmark_indices_, chosen = self._choose_landmarks(views, generator)
            self.landmarks_ = chosen.dense(views.dtype)
            self.replace_map(collapse(self.kernel_, self.landmarks_, self.n_components, views.dtype))
        else:
            self._choose_number(wished, views, generator)
        self.drawn_landmarks_ = self.landmarks_ if len(self.landmarks_.names) > 1 else None
        self.n_landmarks_ = len(self.landmarks_)
        self.clipped_mass_ = self.map_.clipped_mass
        self.tuning_errors_ = None
        if self.tuning is not None:
            self.tune(self.tuning, views, generator)

    def _fit_sample(self, blocks: Blocks) -> None:
        if not (isinstance(self.landmarks, str) or is_multiview(self.landmarks)):
            raise ValueError("of data in blocks no rows are taken by their numbers: give the landmarks as Views.")
        if get_tags(self).target_tags.required and not blocks.has_labels:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        look = first_look(blocks, self.sample_size(), seed_from(self.random_state), learning_of(self.kernel))
        self._fit(views_to_fit(self, look.sample.views), look.sample.labels)
        if self.landmark_indices_ is not None:
            self.landmark_indices_ = look.sample.rows[self.landmark_indices_]
        check_domains(self.kernel_, look)

    def sample_size(self) -> int:
        """Samples that fit looks at, of data in blocks: enough for the kernel network, and to choose landmarks from."""
        network = network_to_fit(self.kernel)
        for_network = network.sample_size() if network is not None else 0
        if wished_error(self.n_landmarks) is not None:
            return max(for_network, MOST_SAMPLES)
        number = OF_MORE if self.n_landmarks == "auto" else int(self.n_landmarks)
        return max(for_network, SAMPLES_PER_LANDMARK * number)

    @_fit_context(prefer_skip_nested_validation=False)
    def fine_tune(self, X: Any) -> Self:
        """Fine-tune the fitted map on more unlabelled samples, by `tuning` or, if that is None, by "landmarks".

        Of data in blocks a sample is drawn, as many as fit would draw.
        """
        blocks = blocks_to_use(self, X)
        if blocks is not None:
            X = blocks.sample(self.sample_size(), seed_from(self.random_state)).views
        self.tune(self.tuning or "landmarks", views_to_use(self, X), generator_from(self.random_state))
        return self

    def tune(self, name: str, views: Views, generator: torch.Generator) -> None:
        """Fine-tune the map in one of the ways that `tuning` names, on views that were checked."""
        if not isinstance(self.map_, CollapsedMap):
            raise ValueError(
                f"a {type(self.map_).__name__} is not fine-tuned: Algorithm 1 makes another network of a map, which no "
                "way of tuning goes on from. Fit anew, with another tuning or on all the samples."
            )
        result = TUNERS[name](self.map_, views, generator)
        self.replace_map(result.map)
        self.tuning_errors_ = (result.error_before, result.error_after)

    def replace_map(self, deep_map: DeepMap) -> None:
        """Another map of the same views in the place of the fitted one."""
        self.map_ = deep_map
        if isinstance(deep_map, CollapsedMap):
            self.kernel_, self.landmarks_ = deep_map.kernel, deep_map.landmarks
        self._n_features_out = deep_map.n_components

    def transform(self, X: Any) -> Any:
        """phi(x) of every sample: (n, n_components).

        Of data in blocks, vectors that are computed when they are asked for: Rows, whose `write` puts them into a file,
        or a Dask array.
        """
        blocks = blocks_to_use(self, X)
        if blocks is not None:
            return answered(self, "transform", blocks)
        views = views_to_use(self, X)
        return like_input(self.map_.transform(views), views)

    def known_samples(self) -> Views:
        """Samples that stand for the data; others that lack a view are completed from them.

        Landmarks that were moved are none: their views tell little of each other.
        """
        return self.landmarks_ if self.drawn_landmarks_ is None else self.drawn_landmarks_

    def explain(self, n_samples: int) -> Plan:
        """What transforming so many samples will take, before it is done: steps, operations, memory. Print it."""
        check_is_fitted(self)
        if not isinstance(self.map_, CollapsedMap):
            raise ValueError(
                f"a {type(self.map_).__name__} runs layer by layer in plain PyTorch: there is no plan of it."
            )
        plan = self.map_.plan(n_samples, choose_device(self.landmarks_))
        if not self.landmark_curve_:
            return plan
        errors = ", ".join(f"{error:.3g}% with {number:,}" for number, error, _ in self.landmark_curve_)
        return replace(plan, note=f"{self.n_landmarks_:,} landmarks, chosen by errors on held-out samples: {errors}")

    def _choose_landmarks(self, views: Views, generator: torch.Generator) -> tuple[np.ndarray | None, Views]:
        if is_multiview(self.landmarks):
            return None, self.kernel_.views(self.landmarks)
        if isinstance(self.landmarks, str):
            number = number_of(self.n_landmarks, len(views))
            rows = SELECTORS[self.landmarks](self.kernel_, views, number, generator, current_budget()).numpy()
        else:
            rows = landmark_rows(self.landmarks, len(views))
        return rows, views[rows]

    def _choose_number(self, wished: float, views: Views, generator: torch.Generator) -> None:
        """The landmarks and the map of an error that is wished for."""
        if not isinstance(self.landmarks, str):
            raise ValueError(
                f"n_landmarks={self.n_landmarks!r} lets fit choose how many landmarks there are, but landmarks= lists "
                "them: give a selector's name such as 'uniform', or a number."
            )
        select, budget = SELECTORS[self.landmarks], current_budget()
        choice = choose_number(self.kernel_, views, wished, select, self.n_components, generator, budget)
        if choice.shortfall is not None:
            warnings.warn(f"n_landmarks={self.n_landmarks!r} is not met: {choice.shortfall}", stacklevel=5)
        warn_if_clipped(choice.map.projection, "the deep kernel on the landmarks")
        self.landmark_indices_, self.landmark_curve_ = choice.rows.numpy(), choice.curve
        self.replace_map(choice.map)

    def check_fitted(self) -> None:
        super().check_fitted()
        if self.kernel_.layout != {name: self.layout_.get(name) for name in self.kernel_.layout}:
            raise DataError(f"a map of the views {self.layout_} holds a kernel on {self.kernel_.layout}.")
        if self.map_.kernel.layout != self.kernel_.layout or self._n_features_out != self.map_.n_components:
            raise DataError("a map does not belong to its kernel, or has another number of components.")
        self.kernel_.check_samples(self.landmarks_)
        if (self.drawn_landmarks_ is None) != (len(self.kernel_.layout) == 1):
            raise DataError(
                "a map of several views holds its landmarks as they were drawn, and one of one view does not."
            )
        if self.drawn_landmarks_ is not None:
            self.kernel_.check_samples(self.drawn_landmarks_)
        counts = {len(landmarks) for landmarks in (self.landmarks_, self.drawn_landmarks_) if landmarks is not None}
        if counts != {self.n_landmarks_}:
            raise DataError(f"n_landmarks_ is {self.n_landmarks_}, but there are {sorted(counts)} landmarks.")
        if self.landmark_indices_ is not None:
            check_array("numbers of landmarks", self.landmark_indices_, (len(self.landmarks_),), kinds="iu", least=0)

    def __sklearn_tags__(self) -> Any:
        tags = describe(super().__sklearn_tags__(), self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def landmark_rows(landmarks: Any, n_samples: int) -> np.ndarray:
    """A caller's row numbers of landmarks."""
    refuse_masked("landmarks", landmarks)
    rows = np.asarray(landmarks)
    if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
        raise DataError(f"landmarks must be row numbers or Views, got {landmarks!r}.")
    if rows.min() < 0 or rows.max() >= n_samples:
        raise DataError(f"landmark rows must lie in 0 ... {n_samples - 1}, got {rows.min()} ... {rows.max()}.")
    return rows
