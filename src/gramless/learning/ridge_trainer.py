"""Learning the weights of a deep kernel network, gains included, by the leave-one-out error of ridge regression.

The error is its own judge: there is no validation part, no C and no gain to set. Parameters are the logarithms of all
weights and of the ridge, tens to thousands of numbers under an expensive objective: L-BFGS, first on one tile of
samples and from there on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import OptimizeResult, minimize
from torch import Tensor

from gramless.errors import DataError
from gramless.learning.checkpoint import CurvePoint
from gramless.learning.elementary import ElementaryValues, Tile
from gramless.learning.leave_one_out import LeaveOneOutError, leave_one_out_error
from gramless.learning.network_gradient import gram_matrix, weight_gradients
from gramless.learning.settings import LeaveOneOut
from gramless.learning.trainer import LearningResult
from gramless.network import Layer
from gramless.support.progress import ProgressBar

FIRST_RIDGE = 0.1  # of the mean diagonal
RIDGES = (1e-4, 1e2)  # the kernel is in float32: where it is almost constant its rounding must stay below the ridge
SMALLEST, LARGEST = 1e-6, 1e3  # weights
CONVERGED = 1e-5  # a step that lowers the logarithm of the error by a smaller share is the last
NEAR, FROM_NEAR = 1e-3, 1e-4  # the same of several steps' mean, on one tile where all follow, and then on all
SEVERAL = 5  # the first step of a descent is always small
SPREAD_OF_SHARES = 0.5  # of logarithms of weights; chosen by cross-validation on seven small problems of regression
FIRST_SPREAD = 2.0  # of the exponent at the start
FAR_WORSE = 10.0  # in the logarithm of the error
TINY = float(np.finfo(np.float64).tiny)
ROUNDINGS = 16


@dataclass(frozen=True, eq=False)
class Descended:
    """Where a descent ended: the layers, the ridge, and the error of every evaluation."""

    layers: tuple[Layer, ...]
    ridge: float
    curve: tuple[CurvePoint, ...]


@dataclass(frozen=True, eq=False)
class Likely:
    """Logarithms of weights are expected around those of `origin`, normally with this deviation, but for a factor."""

    origin: np.ndarray
    deviation: float = SPREAD_OF_SHARES

    def unlikeliness(self, logarithms: np.ndarray, n_errors: int) -> tuple[float, np.ndarray]:
        """Minus twice the logarithm of the density over the number of errors, and its gradient.

        The logarithm of the likelihood of n errors of spread J is -n / 2 log J: over n, log J and this add up.
        """
        moved = logarithms - self.origin
        apart, variance = moved - moved.mean(), self.deviation**2 * n_errors
        return float(apart @ apart) / variance, 2.0 * apart / variance


def learn_by_leave_one_out(
    layers: Sequence[Layer],
    elementary: ElementaryValues,
    targets: Tensor,
    settings: LeaveOneOut,
) -> LearningResult:
    """Descend on the leave-one-out error over weights and ridge; the kernel is measured by its mean diagonal.

    An evaluation: n^2 / 2 passes forward and back through the layers, n^3 operations in float64 and as many in float32.
    `targets` (n, n_targets) have mean zero.
    """
    first, origin = elementary.first_tile(), started(layers, elementary)
    stages = [(elementary, CONVERGED)]
    if first.n_samples < elementary.n_samples:
        stages = [(first, NEAR), (elementary, FROM_NEAR)]
    found = Descended(tuple(origin), FIRST_RIDGE, ())
    with ProgressBar("learning the deep kernel", settings.max_evaluations * len(stages)) as progress:
        for samples, least in stages:
            n_steps, ridge = settings.max_evaluations, found.ridge
            found = descend(found.layers, samples, targets, ridge, n_steps, progress, origin=origin, least=least)
    return LearningResult(found.layers, found.curve)


def descend(
    layers: Sequence[Layer],
    elementary: ElementaryValues,
    targets: Tensor,
    ridge: float,
    max_evaluations: int,
    progress: ProgressBar,
    *,
    tied: bool = False,
    origin: Sequence[Layer] | None = None,
    least: float = CONVERGED,
) -> Descended:
    """From the weights of these layers down the logarithm of the error, all of them free or `tied` to one gain.

    origin : weights are expected near those of these layers, or of `layers`, which counts the less the more errors
        there are: a few samples' errors would be lowered by weights that fit their noise
    least : when several steps have lowered the logarithm of the error by a smaller share each, on average, it ends
    """
    logarithms, likely = _all_logarithms(layers), Likely(_all_logarithms(origin or layers))
    curve: list[CurvePoint] = []
    reached: list[float] = []

    def weights(parameters: np.ndarray) -> np.ndarray:
        return logarithms + parameters[0] if tied else parameters[:-1]

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = np.inf, np.zeros(len(logarithms) + 1)
        with suppress(DataError):  # exp of too long a step overflows
            value, gradient = evaluate(_with_weights(layers, weights(parameters)), elementary, targets, parameters[-1])
        progress.advance()
        if tied:
            gradient = np.array([gradient[:-1].sum(), gradient[-1]])
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            worst = max((point.objective for point in curve), default=1.0)
            return float(np.log(max(worst, TINY))) + FAR_WORSE, np.zeros_like(gradient)
        curve.append(CurvePoint(len(curve), value, None))
        value = max(value, TINY)  # 0 where labels are all alike
        value, gradient = float(np.log(value)), gradient / value  # tolerances do not depend on the targets' size
        if tied:
            return value, gradient  # a factor in common is as likely as any other
        unlikely, slope = likely.unlikeliness(weights(parameters), elementary.n_samples * targets.shape[1])
        return value + unlikely, gradient + np.append(slope, 0.0)

    def end_if_flat(intermediate_result: OptimizeResult) -> None:
        reached.append(intermediate_result.fun)
        lowered = reached[-1 - SEVERAL] - reached[-1] if len(reached) > SEVERAL else np.inf
        if lowered < SEVERAL * least * max(1.0, abs(reached[-1])):
            raise StopIteration

    low, high = np.log(SMALLEST), np.log(LARGEST)
    largest = logarithms.max()  # of weights that are tied; others may be those of constant kernels
    of_weights = [(low - largest, high - largest)] if tied else [(low, high)] * len(logarithms)
    start = np.append([0.0] if tied else logarithms, np.log(ridge))
    options = {"maxfun": max_evaluations, "ftol": CONVERGED}
    bounds = [*of_weights, tuple(np.log(RIDGES))]
    end = minimize(
        *(objective, start), jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=end_if_flat
    ).x
    if not curve:
        raise DataError(
            "the network gives no finite kernel with its first weights, so nothing can be learned from it: give "
            "smaller gains, or an output activation that grows less than exp."
        )
    return Descended(_with_weights(layers, weights(end)), float(np.exp(end[-1])), tuple(curve))


def started(layers: Sequence[Layer], elementary: ElementaryValues) -> Sequence[Layer]:
    """Where to start from: as given, or for one layer, in which every kernel's share of the spread is the same.

    The exponent of the start then falls by FIRST_SPREAD from a sample itself to a sample like any other.
    """
    if len(layers) > 1:
        return layers
    return [Layer(equal_shares(kernel_spreads(elementary))[None, :], layers[0].activation)]


def equal_shares(spreads: Tensor) -> Tensor:
    """Weights with which kernels of these spreads, those that have any, add the same to a spread of FIRST_SPREAD."""
    visible = spreads > 0
    return torch.where(visible, FIRST_SPREAD / (visible.sum() * spreads), SMALLEST)


def kernel_spreads(elementary: ElementaryValues) -> Tensor:
    """Mean diagonal less mean of every elementary kernel on the first tile; 0 where it is rounding: (n_kernels,)."""
    tile = next(elementary.square())
    found = torch.zeros(len(tile.values), dtype=torch.float64)
    for q, values in enumerate(tile.values):  # one kernel after the other: what is made of them is small
        block = tile.block(values)
        spread = (block.diagonal().mean(dtype=torch.float64) - block.mean(dtype=torch.float64)).item()
        if spread > ROUNDINGS * torch.finfo(block.dtype).eps * max(map(abs, torch.stack(block.aminmax()).tolist())):
            found[q] = spread
    return found


def evaluate(
    layers: Sequence[Layer], elementary: ElementaryValues, targets: Tensor, log_ridge: float
) -> tuple[float, np.ndarray]:
    """J(K / s), s the mean diagonal, and its gradient by the logarithms.

    It is that of K with the ridge times s. With G the gradient by K at that ridge, and because a multiple of K has the
    same J, dJ / dK = G - (sum of G o K) / s ds / dK, where ds / dK = I / n.
    """
    gram = gram_matrix(layers, elementary)
    n, ridge = len(gram), float(np.exp(log_ridge))
    scale = gram.diagonal().mean(dtype=torch.float64).item() or 1.0  # a kernel that is zero everywhere has no size
    found: LeaveOneOutError = leave_one_out_error(gram, targets[:n], ridge * scale)
    along = torch.linalg.vecdot(found.gradient, gram).sum(dtype=torch.float64).item()
    found.gradient.diagonal().sub_(along / (n * scale))

    def tile_gradient(tile: Tile) -> Tensor:
        return found.gradient[tile.rows, tile.columns]

    gradients = weight_gradients(layers, elementary, tile_gradient)
    by_logarithm = [(g.cpu() * layer.weights).flatten().numpy() for g, layer in zip(gradients, layers, strict=True)]
    return found.value, np.concatenate([*by_logarithm, [found.ridge_gradient * ridge * scale]])


def _all_logarithms(layers: Sequence[Layer]) -> np.ndarray:
    return np.concatenate([layer.weights.clamp(SMALLEST, LARGEST).log().flatten().numpy() for layer in layers])


def _with_weights(layers: Sequence[Layer], logarithms: np.ndarray) -> tuple[Layer, ...]:
    """The layers with the weights whose logarithms these are, layer after layer."""
    made, used = [], 0
    for layer in layers:
        size = layer.weights.numel()
        made.append(Layer(np.exp(logarithms[used : used + size]).reshape(layer.weights.shape), layer.activation))
        used += size
    return tuple(made)
