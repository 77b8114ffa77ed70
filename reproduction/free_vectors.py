"""Vectors that are fitted to kernel values themselves: what so many numbers per sample can hold of a kernel.

A map of d components gives a vector phi(x) to whatever sample comes. Without a map, n vectors of d numbers can be
fitted to the values between n samples and to nothing else: as far as the fit finds the best, no way of choosing or
tuning a map of d components comes closer on those samples.
"""

from __future__ import annotations

from torch import Tensor

from gramless.maps.tuning.held_out import BestSoFar, error_gradient, held_out_error
from reproduction.descent import descend

STEPS = 300
STEP_SIZE = 0.05  # of the typical entry of the start


def free_vectors(start: Tensor, gram: Tensor) -> Tensor:
    """Every vector moved down the gradient of the relative error between different samples: (n, d), as `start`.

    The best vectors that were met, so never worse than the start. 300 steps of 2 n^2 d multiply-adds, and five n x n
    matrices of memory.
    """
    typical = start.square().mean().sqrt().item()
    found = descend(
        start,
        lambda phi: error_gradient(phi, gram),
        lambda phi: held_out_error(phi, gram),
        BestSoFar(held_out_error(start, gram)),
        step_size=STEP_SIZE * typical,
        n_steps=STEPS,
        patience=STEPS,
        label="vectors without a map",
    )
    return start if found is None else found
