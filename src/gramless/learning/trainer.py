"""Learning the weights of a deep kernel network through the SVM dual (section 2 of the paper).

Weights are on the simplex, non-negative rows with a fixed sum. Free weights run away: the SVM's objective falls when
the kernel grows, whatever it says about the labels. A row is therefore w = gain softmax(theta), and theta is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gramless.learning.checkpoint import CurvePoint, TrainingState, fingerprint, load_state, save_state
from gramless.learning.elementary import ElementaryValues, Tile
from gramless.learning.network_gradient import cross_matrix, gram_matrix, weight_gradients
from gramless.learning.objectives import Objective, Optimum, spread
from gramless.learning.settings import Supervised
from gramless.network import Layer
from gramless.support.progress import ProgressBar

DECAYS = (0.9, 0.999)  # Adam's
SMALLEST = 1e-6  # share of a row under which a weight is as good as zero

Score = Callable[[Tensor], float]
"""How good the margins (m, n_labels) of the validation samples are; higher is better."""


@dataclass(frozen=True, eq=False)
class LearningResult:
    """The learned layers and the learning curve."""

    layers: tuple[Layer, ...]
    curve: tuple[CurvePoint, ...]


def learn(
    layers: Sequence[Layer],
    elementary: ElementaryValues,
    objective: Objective,
    score: Score | None,
    settings: Supervised,
    labels: Sequence[Tensor],
) -> LearningResult:
    """Descend on J(K(w)) over weights on the simplex; keep those with the best score on the validation part.

    labels : all that objective and score know, to tell one run's checkpoint from another's

    A step: the Gram matrix over the tiles, all duals on it from where the last step left them, the gradient
    dJ / dK = -1/2 sum v v' back through the layers tile by tile, and Adam on the logits. n^2 / 2 forward passes and
    about as many backward ones, 12 n^2 bytes besides the elementary values.
    """
    start = [to_logits(layer.weights) for layer in layers]
    gains = [gain for _, gain in start]
    state, run = TrainingState.beginning([theta for theta, _ in start]), ""
    if settings.checkpoint:
        run = fingerprint(replace(settings, checkpoint=None), _identity(layers, elementary, labels))
        state = load_state(settings.checkpoint, run) or state
    with ProgressBar("learning the deep kernel", settings.n_steps - state.step) as progress:
        try:
            while True:
                current = _layers(layers, state.logits, gains)
                gram = gram_matrix(current, elementary)
                scale = spread(gram)
                optimum = objective.optimum((gram / scale).contiguous(), state.alpha)
                last = state.step >= settings.n_steps
                if last or state.step % settings.evaluate_every == 0:
                    _evaluate(state, current, elementary, optimum, scale, score)
                    if settings.checkpoint:
                        save_state(state, settings.checkpoint, run)
                if last or _exhausted(state.curve, settings):
                    break
                gradients = objective_gradients(current, elementary, gram, scale, optimum)
                _adam(state, gradients, current, gains, settings.step_size, optimum.solution.alpha)
                progress.advance()
        except KeyboardInterrupt:
            if settings.checkpoint:
                save_state(state, settings.checkpoint, run)
            raise
    return LearningResult(_layers(layers, state.best_logits, gains), tuple(state.curve))


def objective_gradients(
    layers: Sequence[Layer], elementary: ElementaryValues, gram: Tensor, scale: Tensor, optimum: Optimum
) -> list[Tensor]:
    """dJ / dw, with J a function of K / s and s = spread(K).

    dJ / dK = G / s - (sum G o K / s^2) ds / dK, where G = -1/2 sum v v' and ds / dK_ij = [i = j] / n - 1 / n^2.
    """
    n = len(gram)
    v = optimum.expansions.float()  # (n_labels, n)
    inner = -0.5 * (v * (v @ gram)).sum(dtype=torch.float64)  # sum of G o K
    through_scale = (-inner / scale.double().square()).item()

    def tile_gradient(tile: Tile) -> Tensor:
        gradient = (v[:, tile.rows].T @ v[:, tile.columns]).mul_((-0.5 / scale).item())
        gradient -= through_scale / n**2
        if tile.on_diagonal:
            gradient.diagonal().add_(through_scale / n)
        return gradient

    return [gradient.cpu() for gradient in weight_gradients(layers, elementary, tile_gradient)]


def _adam(
    state: TrainingState,
    gradients: Sequence[Tensor],
    layers: Sequence[Layer],
    gains: Sequence[Tensor],
    size: float,
    alpha: Tensor,
) -> None:
    """One step of Adam on the logits; the objective's own size cancels in it."""
    step = state.step + 1
    firsts, seconds, logits = [], [], []
    for i, (gradient, layer, gain) in enumerate(zip(gradients, layers, gains, strict=True)):
        slope = logit_gradient(gradient, layer.weights, gain)
        firsts.append(torch.lerp(slope, state.first_moments[i], DECAYS[0]))
        seconds.append(torch.lerp(slope.square(), state.second_moments[i], DECAYS[1]))
        first, second = firsts[i] / (1 - DECAYS[0] ** step), seconds[i] / (1 - DECAYS[1] ** step)
        logits.append(state.logits[i] - size * first / (second.sqrt() + 1e-30))
    # In one go: an interrupt must not leave half a step behind.
    vars(state).update(step=step, first_moments=firsts, second_moments=seconds, logits=logits, alpha=alpha)


def _evaluate(
    state: TrainingState,
    layers: Sequence[Layer],
    elementary: ElementaryValues,
    optimum: Optimum,
    scale: Tensor,
    score: Score | None,
) -> None:
    reached = None
    if score is not None:
        cross = cross_matrix(layers, elementary) / scale
        margins = cross @ optimum.expansions.float().T + optimum.bias.float()
        reached = score(margins)
    point = CurvePoint(state.step, optimum.value, reached)
    if not state.curve or state.curve[-1].step < state.step:
        state.curve.append(point)
    if _best(state.curve) is state.curve[-1]:
        state.best_logits = list(state.logits)


def _best(curve: Sequence[CurvePoint]) -> CurvePoint:
    """The point with the highest score, and of those the lowest objective; without scores the last one."""
    return max(curve, key=lambda p: (p.score, -p.objective) if p.score is not None else (0.0, p.step))


def _exhausted(curve: Sequence[CurvePoint], settings: Supervised) -> bool:
    """Whether the score has not risen for as many evaluations as there is patience for."""
    since_best = len(curve) - 1 - curve.index(_best(curve))
    return curve[-1].score is not None and since_best >= settings.patience


def to_logits(weights: Tensor) -> tuple[Tensor, Tensor]:
    """theta (n_units, n_inputs) and the rows' gains (n_units, 1) of given weights."""
    gains = weights.sum(1, keepdim=True)
    shares = weights / torch.where(gains > 0, gains, 1.0)
    return shares.clamp_min(SMALLEST).log(), gains


def to_weights(logits: Tensor, gains: Tensor) -> Tensor:
    return gains * logits.softmax(1)


def logit_gradient(gradient: Tensor, weights: Tensor, gains: Tensor) -> Tensor:
    """dJ / dtheta from dJ / dw: w_q (dJ/dw_q - sum_r (w_r / gain) dJ/dw_r)."""
    mean = (weights * gradient).sum(1, keepdim=True) / torch.where(gains > 0, gains, 1.0)
    return weights * (gradient - mean)


def _layers(layers: Sequence[Layer], logits: Sequence[Tensor], gains: Sequence[Tensor]) -> tuple[Layer, ...]:
    return tuple(
        Layer(to_weights(theta, gain), layer.activation)
        for layer, theta, gain in zip(layers, logits, gains, strict=True)
    )


def _identity(layers: Sequence[Layer], elementary: ElementaryValues, labels: Sequence[Tensor]) -> Iterator[Tensor]:
    """All that goes into a run besides its settings; the activations show in the Gram matrix that they start with."""
    yield from labels
    yield from (layer.weights for layer in layers)
    yield gram_matrix(layers, elementary)
    yield from (tile.values for tile in elementary.square())
    yield from (tile.values for tile in elementary.across())
