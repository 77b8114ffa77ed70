"""The demo: deep kernels and their maps on digits that come with scikit-learn, every number measured on the spot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from gramless.deep_kernel import DeepKernel
from gramless.demo.accuracy import N_METHODS, Outcome, compare_methods, draw_split
from gramless.demo.digits import load_digits_views
from gramless.demo.result import Accuracy, Approximation, DemoResult, DemoSizes, Example, Part, Timing, environment
from gramless.estimators import DeepKernelNetwork, DeepMapNetwork
from gramless.learning import LeaveOneOut
from gramless.metrics.approximation import pairwise_relative_error
from gramless.support.threads import one_thread
from gramless.views import Views

N_EXAMPLES = 6


@dataclass(frozen=True)
class Step:
    """Where the demo stands: `done` of `total` steps of a part, and everything measured so far."""

    part: Part
    done: int
    total: int
    result: DemoResult


def run_demo(
    seed: int = 0, on_step: Callable[[Step], None] = lambda step: None, sizes: DemoSizes | None = None
) -> DemoResult:
    """Measure accuracies, relative errors and times; `on_step` is called before each part and after each step."""
    started = time.perf_counter()
    with one_thread():
        result = _measure_all(seed, on_step, sizes or DemoSizes(), started)
    return replace(result, complete=True, seconds=time.perf_counter() - started)


def _measure_all(seed: int, on_step: Callable[[Step], None], sizes: DemoSizes, started: float) -> DemoResult:
    digits = load_digits_views()
    views, target = digits.views[: sizes.n_digits], digits.target[: sizes.n_digits]
    result = DemoResult(seed, sizes, environment())

    def report(part: Part, done: int, total: int, **measured: Any) -> None:
        nonlocal result
        result = replace(result, seconds=time.perf_counter() - started, **measured)
        on_step(Step(part, done, total, result))

    network_seed, *split_seeds = np.random.SeedSequence(seed).generate_state(1 + sizes.n_splits).tolist()

    n_outcomes = N_METHODS * sizes.n_splits
    report(Part.ACCURACY, 0, n_outcomes)
    for number, split_seed in enumerate(split_seeds):
        split = draw_split(target, sizes, split_seed)
        for outcome in compare_methods(views, target, split, sizes.n_landmarks, split_seed):
            accuracies = (*result.accuracies, accuracy_of(outcome, target, number))
            examples = pick_examples(outcome, target)
            report(Part.ACCURACY, len(accuracies), n_outcomes, accuracies=accuracies, examples=examples)

    n_errors = len(sizes.landmark_counts)
    report(Part.ERROR, 0, n_errors)
    learning = LeaveOneOut(max_samples=sizes.n_labelled)  # as many labels as above
    kernel = DeepKernelNetwork(learning=learning, random_state=network_seed).fit(views, target).kernel_
    for error in measure_errors(kernel, views, sizes.landmark_counts, network_seed):
        errors = (*result.approximations, error)
        report(Part.ERROR, len(errors), n_errors, approximations=errors)

    n_timings = len(sizes.timed_samples)
    report(Part.TIME, 0, n_timings)
    for timing in measure_times(kernel, views, sizes, network_seed):
        timings = (*result.timings, timing)
        report(Part.TIME, len(timings), n_timings, timings=timings)
    return result


def accuracy_of(outcome: Outcome, target: np.ndarray, split: int) -> Accuracy:
    right = float(np.mean(outcome.predicted == target[outcome.tested]))
    return Accuracy(split, outcome.method, outcome.setting, len(outcome.tested), 100 * right)


def pick_examples(outcome: Outcome, target: np.ndarray) -> tuple[Example, ...]:
    """Tested digits for the picture: different ones that were recognised, and in the last place one that was not."""
    answers = [
        Example(int(row), int(target[row]), int(predicted))
        for row, predicted in zip(outcome.tested, outcome.predicted, strict=True)
    ]
    recognised = list({answer.truth: answer for answer in answers if answer.predicted == answer.truth}.values())
    mistaken = [answer for answer in answers if answer.predicted != answer.truth]
    return (*recognised[: N_EXAMPLES - 1], *mistaken[:1])


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
