"""DeepKernelNetwork: from samples to a DeepKernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_consistent_length

from gramless.blocks import Blocks
from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device
from gramless.errors import DataError
from gramless.estimators.block_inputs import blocks_to_fit
from gramless.estimators.first_look import check_domains, first_look
from gramless.estimators.fitted import FittedOnViews, fitted_in_one_step
from gramless.estimators.inputs import as_labels, generator_from, remember_layout, seed_from, views_to_fit
from gramless.estimators.network_learning import learn_kernel
from gramless.estimators.number_learning import learn_from_numbers
from gramless.estimators.numbers import Numbers
from gramless.estimators.parameters import NETWORK_CONSTRAINTS, kernel_list, needs_nonnegative
from gramless.estimators.unlabelled import labelled_rows
from gramless.kernels import Kernel, column_distances, make_kernel
from gramless.learning import CurvePoint, LeaveOneOut, make_learning, spread
from gramless.network import Layer, ViewKernel, initial_weights, make_activation, spread_gains
from gramless.network.activations import Exp
from gramless.support.budget import require, row_blocks
from gramless.support.checks import INPUT, Constraints
from gramless.support.config import current_budget
from gramless.support.threads import threads_for
from gramless.views import Views
from gramless.views.arrays import refuse_masked

PAPERS_KERNELS = ("linear", "poly2", "gaussian", "intersection")
FITTING_KERNELS = ("distance", "cosine-distance", "hellinger-distance", "hellinger4-distance")
MOST_COLUMNS = 64  # of a table, whose columns each have a kernel of their own: n^2 numbers each while they are learned
SCALE_SAMPLES = 1_000
OUTPUT_GAIN, DISTANCE_GAIN = 6.0, 1.0


class DeepKernelNetwork(FittedOnViews, BaseEstimator):
    """A deep kernel network: elementary kernels on every view, combined and activated layer by layer (Eq. 1).

    Parameters
    ----------
    kernels : "auto", or a sequence of str, Kernel or callable, or a mapping of view names to such sequences
        The elementary kernels. A sequence is used on every view. With a distance among them the first layer must be
        exp: hidden=(), or activation="exp". "auto" is what a view allows: distances of standardised columns and of
        unit rows, and on non-negative views of the square and fourth roots of histograms; where one view of at most 64
        columns is all there is and learning is by leave-one-out, of each column alone as well. Under another first
        activation it is the paper's kernels, on signed views without "intersection". Of a view that was not negative,
        new numbers below 0 count as 0, with a warning.
    hidden : "auto" or tuple of int
        Units of each hidden layer; () for the two-layer network that only combines kernels. "auto" is () as well, and
        where learning is by leave-one-out and the output exp, a sum of such networks, over all views and over each:
        units of exp under a plain sum.
    activation, output_activation : str, tuple of coefficients, or callable
        tanh, sinh, exp or identity; non-negative coefficients of a polynomial; or a function of a tensor.
    weights : "random", "uniform", or one (n_units, n_inputs) matrix per layer
        Where learning starts from; hidden units that start equal stay equal. By leave-one-out a network without hidden
        layers starts from equal shares of all kernels.
    learning : "leave-one-out", "supervised", "semi-supervised", LeaveOneOut(...), Supervised(...), ..., or None
        How the weights are learned from labels: by the leave-one-out error of ridge regression, which settles gains as
        well, or through the SVM dual as in the paper; None keeps them as they are initialised.
    hidden_gain : float or (low, high)
        What the weights of a hidden unit sum to, unless they are given; the dual keeps the sum. A pair spreads the
        units from low to high: tanh of a small gain is linear, of a large one it is nearly a step.
    output_gain : "auto" or float
        The same for the output unit; "auto" is 6, and 1 where it sums distances, whose mean between samples is -1.
    normalize : bool
        Scale kernels given by name to a unit diagonal, so that no view rules by its units.
    views : mapping of names to columns, or None
        How one array is cut into views; not needed for Views, mappings and lists of arrays.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : DeepKernel
        The network as an immutable value: call it, give it to SVC, compile it with DeepMapNetwork. Scaled so that its
        mean diagonal exceeds its mean by one, which makes the C of an SVM mean the same for every network.
    learning_curve_ : tuple of CurvePoint, or None where nothing was learned
        Step, objective and validation score of every evaluation.
    """

    kernel_: DeepKernel
    learning_curve_: tuple[CurvePoint, ...] | None

    _parameter_constraints: ClassVar[Constraints] = NETWORK_CONSTRAINTS | INPUT

    def __init__(
        self,
        kernels: Any = "auto",
        hidden: Sequence[int] | str = "auto",
        *,
        activation: Any = "tanh",
        output_activation: Any = "exp",
        weights: Any = "random",
        learning: Any = "leave-one-out",
        hidden_gain: float | tuple[float, float] = (0.1, 2.0),
        output_gain: float | str = "auto",
        normalize: bool = True,
        views: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.hidden = hidden
        self.activation = activation
        self.output_activation = output_activation
        self.weights = weights
        self.learning = learning
        self.hidden_gain = hidden_gain
        self.output_gain = output_gain
        self.normalize = normalize
        self.views = views
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, labelled: Any = None) -> Self:
        """Settle everything that depends on data, and learn the weights.

        y : classes (n,) or an indicator matrix (n, n_labels); not looked at with learning=None
        labelled : mask of the rows whose labels count, for semi-supervised learning; the others' are never looked at.
            Without it every row counts, except those with y = -1 (scikit-learn's convention), or with a row of -1 in
            an indicator, if learning is semi-supervised.

        Data in blocks (in_blocks), labels included, is looked at once, and everything is settled on a sample of it.
        """
        blocks = blocks_to_fit(self, X, y)
        self._require_labels(y, has_labels=blocks is not None and blocks.has_labels)
        with fitted_in_one_step(self) as fresh:
            if blocks is None:
                views = views_to_fit(fresh, X)
                with threads_for(len(views)):
                    fresh._fit(views, y, labelled)
            else:
                fresh._fit_sample(blocks, labelled)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_views(self, views: Views, y: Any) -> Self:
        """As `fit`, on views that an estimator around this one has checked."""
        self._require_labels(y)
        self._fit(remember_layout(self, views), y, None)
        return self

    def _require_labels(self, y: Any, *, has_labels: bool = False) -> None:
        if make_learning(self.learning) is not None and y is None and not has_labels:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: its weights are learned "
                "from labels. Pass y, or set learning=None to keep the weights as they are initialised."
            )

    def _fit(self, views: Views, y: Any, labelled: Any) -> None:
        settings = make_learning(self.learning)
        generator = generator_from(self.random_state)
        sample = views[torch.randperm(len(views), generator=generator)[: 5 * SCALE_SAMPLES]]
        inputs = self._inputs(views, sample, generator)
        kernel = DeepKernel(inputs, self._initial_layers(inputs, generator), views.layout)
        self.learning_curve_ = None
        if settings is not None:
            targets = y if isinstance(y, Numbers) else as_labels(y)
            check_consistent_length(views, targets)
            if isinstance(targets, Numbers):
                kernel, result = learn_from_numbers(kernel, views, targets, settings, generator)
            else:
                mask = labelled_rows(targets, settings) if labelled is None else checked_mask(labelled, len(views))
                mixture = isinstance(self.hidden, str) and isinstance(kernel.layers[0].activation, Exp)
                kernel, result = learn_kernel(kernel, views, targets, mask, settings, generator, mixture=mixture)
            self.learning_curve_ = result.curve
        measured = sample[:SCALE_SAMPLES]
        self.kernel_ = replace(kernel, scale=1.0 / spread(kernel.tensor(measured, measured)).item())

    def sample_size(self) -> int:
        """Samples that fit looks at, at most; of data in blocks as many are drawn."""
        settings = make_learning(self.learning)
        return max(5 * SCALE_SAMPLES, settings.max_samples if settings is not None else 0)

    def _fit_sample(self, blocks: Blocks, labelled: Any) -> None:
        if labelled is not None:
            raise ValueError("with data in blocks there is no mask: mark samples without a label by y = -1.")
        look = first_look(blocks, self.sample_size(), seed_from(self.random_state), make_learning(self.learning))
        self._fit(views_to_fit(self, look.sample.views), look.sample.labels, None)
        check_domains(self.kernel_, look)

    def _initial_layers(self, inputs: Sequence[ViewKernel], generator: torch.Generator) -> tuple[Layer, ...]:
        hidden = self._hidden
        widths = (len(inputs), *hidden, 1)
        require(
            3 * 8.0 * sum(above * below for above, below in pairwise(widths)),
            current_budget(),
            what=f"the weights of a network with hidden={self.hidden!r}",
            remedy="Use fewer units.",
        )
        gains = [spread_gains(self.hidden_gain, n_units) for n_units in hidden]
        gains.append(spread_gains(self._resolved_output_gain(inputs), 1))
        weights = initial_weights(self.weights, widths, gains, generator)
        activations = [self.activation] * len(hidden) + [self.output_activation]
        return tuple(Layer(w, make_activation(a)) for w, a in zip(weights, activations, strict=True))

    @property
    def _hidden(self) -> tuple[int, ...]:
        return () if isinstance(self.hidden, str) else tuple(map(int, self.hidden))

    def _resolved_output_gain(self, inputs: Sequence[ViewKernel]) -> float:
        if self.output_gain != "auto":
            return float(self.output_gain)
        on_distances = not self._hidden and any(entry.kernel.conditional for entry in inputs)
        return DISTANCE_GAIN if on_distances else OUTPUT_GAIN

    def _inputs(self, views: Views, sample: Views, generator: torch.Generator) -> tuple[ViewKernel, ...]:
        inputs = []
        device = choose_device(views)
        ranges = {view: value_range(views, view) for view in views.names}
        dtype = views.dtype if self.learning is None else torch.float32  # in which weights are learned
        for view, spec in self._specs(views, ranges):
            kernel = make_kernel(spec, normalize=self.normalize)
            try:
                kernel.check_range(*ranges[view], views.layout[view], dtype)
                kernel = kernel.fit(sample.tensor(view, torch.float64, device), generator)
            except DataError as error:
                raise DataError(f"view {view!r}: {error}") from error
            inputs.append(ViewKernel(view, kernel))
        return tuple(inputs)

    def _specs(self, views: Views, ranges: Mapping[str, tuple[float, float]]) -> list[tuple[str, Any]]:
        """(view, kernel) of every input of the network."""
        per_view: dict[str, Any]
        if isinstance(self.kernels, str) and self.kernels == "auto":
            per_view = {name: self._fitting_kernels(views, name, ranges[name][0] >= 0) for name in views.names}
        elif not isinstance(self.kernels, Mapping):
            per_view = dict.fromkeys(views.names, self.kernels)
        else:
            per_view = dict(self.kernels)
            if set(per_view) != set(views.names):
                raise DataError(
                    f"kernels= names the views {list(per_view)}, but the data has the views {list(views.names)}. "
                    "Give every view its kernels."
                )
        specs = [(view, spec) for view, chosen in per_view.items() for spec in kernel_list(chosen)]
        if not specs:
            raise ValueError("a network needs at least one elementary kernel; kernels= is empty.")
        return specs

    def _validate_params(self) -> None:
        super()._validate_params()
        make_learning(self.learning)  # an error of a name that is none

    def check_fitted(self) -> None:
        super().check_fitted()
        self._check_layout(self.kernel_.layout)
        for entry in self.kernel_.inputs:
            entry.kernel.declare()  # an error of a kernel that is still to be fitted

    def _fitting_kernels(self, views: Views, view: str, nonnegative: bool) -> tuple[str | Kernel, ...]:
        """What kernels="auto" means for one view."""
        width = views.layout[view]
        first = self.activation if self._hidden else self.output_activation
        if isinstance(make_activation(first), Exp):  # under which sums of distances are kernels
            if width == 1:
                return FITTING_KERNELS[:1]  # a row of one number has no angle
            chosen = FITTING_KERNELS if nonnegative else FITTING_KERNELS[:2]
            table = len(views.names) == 1 and width <= MOST_COLUMNS
            table = table and isinstance(make_learning(self.learning), LeaveOneOut)  # which finds those that tell
            return (*chosen, *column_distances(views.tensor(view, torch.float64))) if table else chosen
        return PAPERS_KERNELS if nonnegative else PAPERS_KERNELS[:-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_nonnegative(self.kernels)
        tags.target_tags.required = self.learning is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")


def checked_mask(labelled: Any, n_samples: int) -> np.ndarray:
    refuse_masked("labelled", labelled)
    mask = np.asarray(labelled)
    if mask.shape != (n_samples,) or mask.dtype != bool:
        raise DataError(f"labelled must be a mask with one truth value per sample, got {mask.dtype} {mask.shape}.")
    return mask


def value_range(views: Views, view: str) -> tuple[float, float]:
    """The smallest and the largest value of a view; every sample is looked at once, a block at a time."""
    low, high = math.inf, -math.inf
    for rows in row_blocks(len(views), 8 * views.layout[view], current_budget()):
        smallest, largest = torch.stack(views[rows].tensor(view, views.dtype).aminmax()).tolist()
        low, high = min(low, smallest), max(high, largest)
    return low, high
