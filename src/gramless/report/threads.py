"""As many torch threads as pay on this machine at this moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

N_ROUNDS = 30


@contextmanager
def threads_that_pay() -> Iterator[int]:
    """Run the body with all torch threads or with one, whichever is faster just now.

    On a machine that others use as well, threads wait for those of them that are not running: two can then be
    several times slower than one.
    """
    before = torch.get_num_threads()
    try:
        best = min({before, 1}, key=_seconds_with)
        torch.set_num_threads(best)
        yield best
    finally:
        torch.set_num_threads(before)


def _seconds_with(n_threads: int) -> float:
    """Time for many short pieces of work, of the size into which a deep kernel cuts its own."""
    torch.set_num_threads(n_threads)
    weights, values = torch.full((80, 28), 1 / 28), torch.ones(28, 4096)
    (weights @ values).tanh_()  # the first call starts the threads
    started = time.perf_counter()
    for _ in range(N_ROUNDS):
        (weights @ values).tanh_()
    return time.perf_counter() - started
