"""Accuracies on held-out digits: one kernel, the average kernel, a deep kernel network, and its map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
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

Features = Callable[[Views], np.ndarray]
"""What a classifier sees of samples: kernel values against the labelled ones, or vectors."""

FitPredict = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]
"""fit_predict(features, y, fitted, asked, C): learn from the rows `fitted`, answer for the rows `asked`."""


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

    def against_support(kernel: DeepKernel) -> Features:
        return lambda X: kernel(X, support)

    def evaluate(method: str, candidates: Mapping[str, Features], fit_predict: FitPredict) -> Outcome:
        return evaluate_method(method, candidates, fit_predict, views, target, split, seed)

    single = {
        f"{view}, {kernel}": against_support(combined_kernel(known, {view: [kernel]}))
        for view in views.names
        for kernel in PAPERS_KERNELS
    }
    yield evaluate("best single kernel", single, kernel_svm)

    average = combined_kernel(known, dict.fromkeys(views.names, PAPERS_KERNELS))
    yield evaluate(f"average of {len(single)} kernels", {"": against_support(average)}, kernel_svm)

    untrained = DeepKernelNetwork(learning=None, random_state=seed).fit(known).kernel_
    yield evaluate("DKN, untrained, + SVM", {"": against_support(untrained)}, kernel_svm)

    has_label = np.arange(len(rows)) < len(split.labelled)  # the labels of the others are never looked at
    learned = DeepKernelNetwork(random_state=seed).fit(known, target[rows], labelled=has_label).kernel_
    yield evaluate("DKN, learned, + SVM", {"": against_support(learned)}, kernel_svm)

    mapped = DeepMapNetwork(learned, n_landmarks, random_state=seed).fit(known)
    yield evaluate("DMN + linear SVM", {"": mapped.transform}, linear_svm)


def combined_kernel(known: Views, kernels: Mapping[str, Any]) -> DeepKernel:
    """The plain average of elementary kernels: a network without hidden layers, with equal weights."""
    chosen = Views({view: known[view] for view in kernels})
    network = DeepKernelNetwork(
        kernels, (), weights="uniform", learning=None, output_activation="identity", random_state=0
    )
    return network.fit(chosen).kernel_


def evaluate_method(
    method: str,
    candidates: Mapping[str, Features],
    fit_predict: FitPredict,
    views: Views,
    target: np.ndarray,
    split: Split,
    seed: int,
) -> Outcome:
    """Choose on the labelled digits; then, once, learn from all of them and answer for the tested ones."""
    name, penalty = choose_setting(candidates, fit_predict, views[split.labelled], target[split.labelled], seed)
    rows = np.concatenate([split.labelled, split.tested])
    fitted, asked = np.split(np.arange(len(rows)), [len(split.labelled)])
    predicted = fit_predict(candidates[name](views[rows]), target[rows], fitted, asked, penalty)
    return Outcome(method, name, penalty, split.tested, predicted)


def choose_setting(
    candidates: Mapping[str, Features], fit_predict: FitPredict, labelled: Views, y: np.ndarray, seed: int
) -> tuple[str, float]:
    """The candidate and the penalty that are right most often in cross-validation; the first of equals."""
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(y, y))
    right: dict[tuple[str, float], int] = {}
    for name, features in candidates.items():
        known = features(labelled)
        for penalty in PENALTIES:
            right[name, penalty] = sum(
                int((fit_predict(known, y, fitted, asked, penalty) == y[asked]).sum()) for fitted, asked in folds
            )
    return max(right, key=lambda setting: right[setting])


def kernel_svm(gram: np.ndarray, y: np.ndarray, fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
    """LIBSVM on kernel values whose columns are the labelled digits; one machine per pair of digits."""
    machines = SVC(kernel="precomputed", C=C).fit(gram[np.ix_(fitted, fitted)], y[fitted])
    return machines.predict(gram[np.ix_(asked, fitted)])


def linear_svm(phi: np.ndarray, y: np.ndarray, fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
    """LIBLINEAR on vectors; one machine per pair of digits, so that kernels and maps are compared on equal terms."""
    machines = OneVsOneClassifier(LinearSVC(C=C, random_state=0))
    return machines.fit(phi[fitted], y[fitted]).predict(phi[asked])
