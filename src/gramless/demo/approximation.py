"""How close the map comes to its kernel, and how the time of both grows with the number of samples."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from gramless.deep_kernel import DeepKernel
from gramless.demo.result import Approximation, DemoSizes, Timing
from gramless.estimators import DeepMapNetwork
from gramless.metrics.approximation import pairwise_relative_error
from gramless.views import Views

PATIENCE_SECONDS = 2.0  # no size is timed again once this much time went into it


def measure_errors(
    kernel: DeepKernel, views: Views, landmark_counts: Sequence[int], seed: int
) -> Iterator[Approximation]:
    """Relative errors over all pairs of samples, and over all pairs of samples that are not landmarks.

    What `gramless.relative_error` gives, with the kernel's values computed once for all maps.
    """
    exact = torch.from_numpy(kernel(views))
    for n_landmarks in landmark_counts:
        mapped = DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(views)
        phi = torch.from_numpy(mapped.transform(views))
        errors = pairwise_relative_error(phi @ phi.T, exact).double()
        outside = np.delete(np.arange(len(views)), np.asarray(mapped.landmark_indices_))
        yield Approximation(
            n_landmarks,
            100 * errors.mean().item(),
            100 * errors[np.ix_(outside, outside)].mean().item(),
            len(outside),
        )


def measure_times(kernel: DeepKernel, views: Views, sizes: DemoSizes, seed: int) -> Iterator[Timing]:
    """Median seconds; kernel and map take turns, so that whatever else the machine does hits both.

    Samples are drawn with replacement, so there can be more of them than the data set holds.
    """
    generator = np.random.default_rng(seed)
    mapped = DeepMapNetwork(kernel, sizes.n_landmarks, random_state=seed).fit(views)
    for n_samples in sizes.timed_samples:
        drawn = kernel.views(views[generator.integers(len(views), size=n_samples)])
        turns = [take_turns(kernel, mapped, drawn)]
        while len(turns) < sizes.n_repeats and np.sum(turns) < PATIENCE_SECONDS:
            turns.append(take_turns(kernel, mapped, drawn))
        kernel_seconds, map_seconds = np.median(turns, axis=0).tolist()
        yield Timing(n_samples, len(turns), kernel_seconds, map_seconds)


def take_turns(kernel: DeepKernel, mapped: DeepMapNetwork, samples: Views) -> tuple[float, float]:
    """Seconds for all kernel values among samples, and seconds for their vectors."""
    started = time.perf_counter()
    kernel(samples)
    between = time.perf_counter()
    mapped.transform(samples)
    return between - started, time.perf_counter() - between
