"""Moving the landmarks so that the map between other samples comes closer to the kernel. No labels.

What a map can say is the span of its landmarks' features, and nothing makes samples the best points to span it by: as
in sparse Gaussian processes, whose inducing points are optimised, the rows Z of the landmarks are parameters. What is
lowered, over the pairs of a random batch of b samples and through kappa(x, Z) and kappa(Z, Z) alike, is their relative
error (`relative_error`). That of held-out samples decides which landmarks are kept.

A step costs (b + N) N kernel values forward and back, b^2 values of the kernel itself, and N^3 / 3 + 2 b N^2 operations
in float64; memory does not depend on how many samples there are to tune on.
"""

from __future__ import annotations

from math import cos, pi

import torch

from gramless.engine import choose_device
from gramless.maps import CollapsedMap
from gramless.maps.tuning.held_out import BestSoFar, TuningResult, error_gradient, fresh_rows, held_out_error, hold_out
from gramless.maps.tuning.moving_map import MovingMap
from gramless.support.budget import affordable_samples
from gramless.support.progress import ProgressBar
from gramless.views import Views

STEPS = 200
BATCH = 256
STEP_SIZE = 0.1  # of the spread of a column, and in the log-odds of the deflated share; at the beginning
CHECK_EVERY = 50
SETTLE_EVERY = 10
PAIR_BYTES = 32  # per pair of a batch: the kernel's value, in both types, the map's, and their difference


def move_landmarks(deep_map: CollapsedMap, X: Views, generator: torch.Generator) -> TuningResult:
    """The map with its landmarks moved, judged by held-out samples; Ctrl-C keeps the best so far."""
    kernel = deep_map.kernel
    X = kernel.views(X)
    split = hold_out(fresh_rows(X, deep_map.landmarks, deep_map.dtype), generator)
    moving = MovingMap.of(deep_map, choose_device(X), with_weights=False)
    wanted = max(len(split.held_out), min(BATCH, len(split.train)))
    affordable = affordable_samples(wanted, PAIR_BYTES, moving.room, what="moving landmarks")
    held_out, samples = X[split.held_out[:affordable]], moving.near(X)
    gram = kernel.tensor(held_out, held_out, torch.float32).to(moving.log_weights[0].device)
    judged = moving.blocks_of(held_out)

    def error() -> float:
        with torch.no_grad():
            return held_out_error(moving.features(judged, moving.placed()).float(), gram)

    before = held_out_error(deep_map.transform(held_out).to(gram), gram)
    best, chosen = BestSoFar(before), None
    if best.offer(error(), 0):
        chosen = moving.state()
    optimizer = torch.optim.Adam([*moving.landmarks.parameters, moving.log_odds])
    with ProgressBar("moving landmarks", STEPS) as progress:
        try:
            for step in range(STEPS):
                drawn = torch.randperm(len(split.train), generator=generator)[: min(BATCH, affordable)]
                rows = moving.blocks_of(samples[split.train[drawn]])
                values, phi = moving.between(rows), moving.features(rows, moving.placed())
                if not phi.requires_grad:  # a constant activation: the kernel does not depend on where landmarks are
                    break
                optimizer.zero_grad()
                phi.backward(error_gradient(phi.detach(), values))
                optimizer.param_groups[0]["lr"] = STEP_SIZE * (1 + cos(pi * step / STEPS)) / 2
                moving.step_(optimizer)
                progress.advance()
                done = step + 1
                if done % SETTLE_EVERY == 0:
                    moving.renew_deflation_()
                checked = done % CHECK_EVERY == 0 or done == STEPS
                if checked and best.offer(error(), done):
                    chosen = moving.state()
        except KeyboardInterrupt:
            if chosen is None:
                raise
    if chosen is None:
        return TuningResult(deep_map, before, before, best.curve, len(split))
    moving.restore_(chosen)
    tuned = moving.compiled(deep_map)
    after = held_out_error(tuned.transform(held_out).to(gram), gram)  # as it is returned: rounding breaks no promise
    if not after < before:
        return TuningResult(deep_map, before, before, best.curve, len(split))
    return TuningResult(tuned, before, after, best.curve, len(split))
