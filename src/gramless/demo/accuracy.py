"""Accuracies on held-out digits: one kernel, the average kernel, a deep kernel network, and its map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC, LinearSVC

from gramless.deep_kernel import DeepKernel
from gramless.demo.result import DemoSizes
from gramless.estimators import DeepKernelNetwork, DeepMapNetwork
from gramless.estimators.deep_kernel_network import PAPERS_KERNELS
from gramless.views import Views

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
    """What a method answered for the tested digits, and the candidate and penalty that it chose for itself."""

    method: str
    candidate: str
    penalty: float
    tested: np.ndarray
    predicted: np.ndarray

    @property
    def setting(self) -> str:
        return f"{self.candidate}, C={self.penalty:g}" if self.candidate else f"C={self.penalty:g}"


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
    return Outcome(method, name, searches[name].best_params_[penalty], split.tested, predicted)
