"""Small steps down a gradient of random batches, judged by held-out samples."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gramless.maps.tuning.held_out import BestSoFar
from gramless.support.progress import ProgressBar

CHECK_EVERY = 10


def descend(
    start: Tensor,
    gradient: Callable[[Tensor], Tensor],
    error: Callable[[Tensor], float],
    best: BestSoFar,
    *,
    step_size: float,
    n_steps: int,
    patience: int,
    label: str,
) -> Tensor | None:
    """Adam from `start`, its step falling linearly to 0; the parameters with the lowest held-out error.

    None if no parameters had a lower error than the best before. `gradient` is that of a random batch. The search ends
    early once `patience` steps have brought no lower error.
    """
    parameters, chosen, last_gain = start.clone(), None, 0
    optimizer = torch.optim.Adam([parameters], betas=(0.9, 0.99))
    with ProgressBar(label, n_steps) as progress:
        for step in range(n_steps):
            optimizer.param_groups[0]["lr"] = step_size * (1 - step / n_steps)
            parameters.grad = gradient(parameters)
            optimizer.step()
            progress.advance()
            if (step + 1) % CHECK_EVERY == 0:
                if best.offer(error(parameters), CHECK_EVERY):
                    chosen, last_gain = parameters.clone(), step + 1
                if step + 1 - last_gain >= patience:
                    break
    return chosen
