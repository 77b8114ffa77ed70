"""From views and numbers to learned layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from gramless.deep_kernel import DeepKernel
from gramless.estimators.network_learning import MATRICES
from gramless.estimators.numbers import Numbers
from gramless.learning import ElementaryValues, Learning, LearningResult, LeaveOneOut, learn_by_leave_one_out
from gramless.network import Layer
from gramless.support.budget import affordable_samples
from gramless.support.config import current_budget
from gramless.views import Views

IDLE = 1e-5  # learning bounds weights by 1e-6
FAR_OUT = 5.0  # deviations from the median
QUARTILES_APART = 1.3489795003921634  # of a normal distribution, in deviations


def learn_from_numbers(
    kernel: DeepKernel, views: Views, numbers: Numbers, settings: Learning, generator: torch.Generator
) -> tuple[DeepKernel, LearningResult]:
    """Learn the weights of an initialised network from samples and targets that are numbers, all of one scale.

    Weights are learned from targets without outliers: a few large ones would be most of the squared error, and weights
    that fit them by chance would win. The ridge regression on the learned kernel takes targets as they are.

    Of a network of one layer only kernels without a weight are left out, not those whose part is small: the width of a
    feature that has a linear effect is many times its spread.
    """
    if not isinstance(settings, LeaveOneOut):
        raise ValueError(
            f"learning={type(settings).__name__}(...) goes through the dual of SVMs, which takes labels: for numbers "
            "use learning='leave-one-out', or None to keep the weights as they are initialised."
        )
    budget = current_budget()
    n_wanted = min(settings.max_samples, len(views))
    n_taken = affordable_samples(n_wanted, MATRICES * 8, budget, what="learning the kernel")
    drawn = torch.randperm(len(views), generator=generator).numpy()[:n_taken]
    elementary = ElementaryValues(kernel, views[drawn], None, budget)
    targets = torch.from_numpy(without_outliers(numbers.values[drawn])).to(elementary.device, torch.float64)
    result = learn_by_leave_one_out(kernel.layers, elementary, targets - targets.mean(0), settings)
    if len(result.layers) > 1:
        return replace(kernel, layers=result.layers), result
    (layer,) = result.layers
    used = np.flatnonzero(layer.weights[0].numpy() > IDLE)
    used = used if len(used) else np.arange(layer.n_inputs)
    inputs = tuple(kernel.inputs[q] for q in used)
    return replace(kernel, inputs=inputs, layers=(Layer(layer.weights[:, used], layer.activation),)), result


def without_outliers(targets: np.ndarray) -> np.ndarray:
    """Targets (n, n_targets), those farther than FAR_OUT deviations from the median of their column set there.

    The deviation is that of a normal distribution with the same quartiles. A column whose quartiles coincide has none,
    and stays as it is.
    """
    low, median, high = np.quantile(targets, [0.25, 0.5, 0.75], axis=0)
    reach = np.where(high > low, FAR_OUT * (high - low) / QUARTILES_APART, np.inf)
    return targets.clip(median - reach, median + reach)
