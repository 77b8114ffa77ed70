"""The demo: deep kernels and their maps on digits that come with scikit-learn, every number measured on the spot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC, LinearSVC

from gramless.deep_kernel import DeepKernel
from gramless.demo.digits import load_digits_views
from gramless.demo.result import Accuracy, Approximation, DemoResult, DemoSizes, Example, Part, Timing, environment
from gramless.estimators import DeepKernelNetwork, DeepMapNetwork
from gramless.estimators.deep_kernel_network import PAPERS_KERNELS
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


PENALTIES = (1.0, 10.0)
N_FOLDS = 3
N_METHODS = 5

FeaturesOf = Callable[[Views], np.ndarray]
"""What a classifier sees of samples: kernel values against the labelled ones, or vectors."""

KERNEL_SVM: Any = SVC(kernel="precomputed"), "C"
"""LIBSVM on kernel values whose columns are the labelled digits, one machine per pair of digits; and its penalty."""

LINEAR_SVM: Any = OneVsOneClassifier(LinearSVC(random_state=0)), "estimator__C"
"""LIBLINEAR on vectors; one machine per pair of digits, so that kernels and maps are compared on equal terms."""


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of three disjoint parts: digits with labels, digits without, and digits to be tested on."""

    labelled: np.ndarray
    unlabelled: np.ndarray
    tested: np.ndarray


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method answered for the tested digits, and the setting that it chose for itself."""

    method: str
    setting: str
    tested: np.ndarray
    predicted: np.ndarray


def draw_split(target: np.ndarray, sizes: DemoSizes, seed: int) -> Split:
    """Drawn with the seed, every digit in the same proportion in every part."""
    rows = np.arange(len(target))
    labelled, rest = train_test_split(rows, train_size=sizes.n_labelled, stratify=target, random_state=seed)
    unlabelled, tested = train_test_split(rest, train_size=sizes.n_unlabelled, stratify=target[rest], random_state=seed)
    return Split(labelled, unlabelled, tested)


def compare_methods(views: Views, target: np.ndarray, split: Split, n_landmarks: int, seed: int) -> Iterator[Outcome]:
    """Five methods on one split, as each gets done.

    Widths of kernels and landmarks come from labelled and unlabelled digits, labels from the labelled ones only. The
    penalty of the learned network is chosen on labels that its weights have seen; the tested digits nobody has.
    """
    rows = np.concatenate([split.labelled, split.unlabelled])
    known = views[rows]
    support = views[split.labelled]

    def against_support(kernel: DeepKernel) -> FeaturesOf:
        return lambda X: kernel(X, support)

    def evaluate(method: str, candidates: Mapping[str, FeaturesOf], machine: Any) -> Outcome:
        return evaluate_method(method, candidates, machine, views, target, split, seed)

    single = {
        f"{view}, {kernel}": against_support(combined_kernel(known, {view: [kernel]}))
        for view in views.names
        for kernel in PAPERS_KERNELS
    }
    yield evaluate("best single kernel", single, KERNEL_SVM)

    average = combined_kernel(known, dict.fromkeys(views.names, PAPERS_KERNELS))
    yield evaluate(f"average of {len(single)} kernels", {"": against_support(average)}, KERNEL_SVM)

    untrained = DeepKernelNetwork(learning=None, random_state=seed).fit(known).kernel_
    yield evaluate("DKN, untrained, + SVM", {"": against_support(untrained)}, KERNEL_SVM)

    has_label = np.arange(len(rows)) < len(split.labelled)  # the labels of the others are never looked at
    learned = DeepKernelNetwork(random_state=seed).fit(known, target[rows], labelled=has_label).kernel_
    yield evaluate("DKN, learned, + SVM", {"": against_support(learned)}, KERNEL_SVM)

    mapped = DeepMapNetwork(learned, n_landmarks, random_state=seed).fit(known)
    yield evaluate("DMN + linear SVM", {"": mapped.transform}, LINEAR_SVM)


def combined_kernel(known: Views, kernels: Mapping[str, Any]) -> DeepKernel:
    """The plain average of elementary kernels: a network without hidden layers, with equal weights."""
    chosen = Views({view: known[view] for view in kernels})
    network = DeepKernelNetwork(
        kernels, (), weights="uniform", learning=None, output_activation="identity", random_state=0
    )
    return network.fit(chosen).kernel_


def evaluate_method(
    method: str,
    candidates: Mapping[str, FeaturesOf],
    machine: Any,
    views: Views,
    target: np.ndarray,
    split: Split,
    seed: int,
) -> Outcome:
    """Choose candidate and penalty by cross-validation on the labelled digits, the first of equals; then, once, learn
    from all of them and answer for the tested ones.
    """
    model, penalty = machine
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    labelled, y = views[split.labelled], target[split.labelled]
    searches = {
        name: GridSearchCV(model, {penalty: PENALTIES}, cv=folds).fit(features(labelled), y)
        for name, features in candidates.items()
    }
    name = max(searches, key=lambda candidate: searches[candidate].best_score_)
    predicted = searches[name].predict(candidates[name](views[split.tested]))
    setting = f"C={searches[name].best_params_[penalty]:g}"
    return Outcome(method, f"{name}, {setting}" if name else setting, split.tested, predicted)
