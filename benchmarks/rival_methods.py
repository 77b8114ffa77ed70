"""What people would try on several views: one method, on one problem, in a process of its own.

`python rival_methods.py METHOD PROBLEM.npz ANSWERS.npz LIMIT`, the limit in seconds of the processor. A problem is the
views of known samples (known/NAME), their y, and the views of others (asked/NAME); y is classes 0, 1, ..., an indicator
of labels, or numbers (float, one column per target). Answers are `predicted`, and where samples have several labels
`scores`. The last line of output is JSON: seconds of fitting (wall and processor) and of answering, and the highest
resident memory above what there was before; a fit to next to nothing comes first, which imports and compiles. Nothing
of this project is imported but by its own methods, so that any environment that has a rival can run it. The few
settings of a rival are chosen by three-fold cross-validation on the known samples; xRFM's on the part that it holds out
anyway.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

Views = dict[str, np.ndarray]


class Answers(NamedTuple):
    predicted: np.ndarray
    scores: np.ndarray
    """(n, n_labels), where samples have several labels; else of no meaning."""


Answering = Callable[[Views], Answers]
Method = Callable[[Views, np.ndarray], Answering]
"""From views and y of known samples to a function that answers for others."""

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
WIDTHS = (0.1, 0.5, 2.0)
"""Of the Gaussians that multiple kernel learning chooses from: the exponent of a mean squared distance."""


def folds(y: np.ndarray, number: int = 3) -> KFold | StratifiedKFold:
    kind = StratifiedKFold if y.ndim == 1 and not np.issubdtype(y.dtype, np.floating) else KFold
    return kind(number, shuffle=True, random_state=0)


def columns_of(y: np.ndarray) -> np.ndarray:
    """One column per class, label or target."""
    return y if y.ndim == 2 else np.eye(int(y.max()) + 1, dtype=np.int64)[y]


def decided(scores: np.ndarray, y: np.ndarray, threshold: float = 0.0) -> Answers:
    """The best class, or the labels above the threshold."""
    return Answers(scores.argmax(1) if y.ndim == 1 else (scores > threshold).astype(np.int64), scores)


def quality(scores: np.ndarray, y: np.ndarray) -> float:
    """What settings are chosen by: accuracy, or the mean over labels of average precision."""
    if y.ndim == 1:
        return float(accuracy_score(y, scores.argmax(1)))
    return float(average_precision_score(y, scores, average="macro"))


def searched(estimator: Any, grid: dict[str, Any], X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], Answers]:
    scoring = "accuracy" if y.ndim == 1 else "average_precision"
    search = GridSearchCV(estimator, grid, cv=folds(y), scoring=scoring).fit(X, y)
    if y.ndim == 1:
        return lambda asked: Answers(search.predict(asked), np.empty(0))
    return lambda asked: decided(search.decision_function(asked), y)


def side_by_side(X: Views) -> np.ndarray:
    return np.concatenate([*X.values()], axis=1)


def on_columns(estimator: Any, grid: dict[str, Any]) -> Method:
    """All views side by side, standardised."""

    def fit(X: Views, y: np.ndarray) -> Answering:
        machine, prefix = make_pipeline(StandardScaler(), clone(estimator)), f"{type(estimator).__name__.lower()}__"
        if y.ndim == 2:
            machine, prefix = OneVsRestClassifier(machine), f"estimator__{prefix}"
        answer = searched(machine, {prefix + name: values for name, values in grid.items()}, side_by_side(X), y)
        return lambda asked: answer(side_by_side(asked))

    return fit


def extra_trees(X: Views, y: np.ndarray) -> Answering:
    trees = ExtraTreesClassifier(500, random_state=0).fit(side_by_side(X), y)

    def answer(asked: Views) -> Answers:
        probabilities = trees.predict_proba(side_by_side(asked))
        if y.ndim == 1:
            return decided(probabilities, y)
        return decided(np.column_stack([column[:, 1] for column in probabilities]), y, 0.5)

    return answer


def standardised(X: Views) -> Callable[[Views], list[np.ndarray]]:
    scalers = {name: StandardScaler().fit(block) for name, block in X.items()}
    return lambda asked: [scaler.transform(asked[name]) for name, scaler in scalers.items()]


def gaussians(X: Views, widths: tuple[float, ...], *, linear: bool) -> Callable[[Views], Iterator[np.ndarray]]:
    """Kernels between asked and known samples, on every standardised view."""
    scaled = standardised(X)
    known = scaled(X)
    spread = [euclidean_distances(block, squared=True).mean() or 1.0 for block in known]

    def kernels(asked: Views) -> Iterator[np.ndarray]:
        for new, block, mean in zip(scaled(asked), known, spread, strict=True):
            if linear:
                yield new @ block.T / block.shape[1]
            distances = euclidean_distances(new, block, squared=True) / mean
            yield from (np.exp(-width * distances) for width in widths)

    return kernels


def average_kernel(X: Views, y: np.ndarray) -> Answering:
    """One Gaussian per standardised view, as wide as samples are apart, and one SVM per class on their mean."""
    kernels = gaussians(X, (1.0,), linear=False)
    machine = OneVsRestClassifier(SVC(kernel="precomputed"))
    answer = searched(machine, {"estimator__C": PENALTIES}, sum(kernels(X)) / len(X), y)
    return lambda asked: answer(sum(kernels(asked)) / len(X))


def easy_mkl(X: Views, y: np.ndarray) -> Answering:
    """MKLpy's weights of the kernels for each class, and an SVM on what they make."""
    import torch
    from MKLpy.algorithms import EasyMKL

    kernels, columns = gaussians(X, WIDTHS, linear=True), columns_of(y)
    grams = torch.from_numpy(np.array([*kernels(X)]))

    def weights_of(rows: np.ndarray, column: np.ndarray, lam: float) -> torch.Tensor:
        part = [gram[rows][:, rows] for gram in grams]
        return EasyMKL(lam=lam).combine_kernels(part, torch.from_numpy(column[rows])).weights.double()

    def combined(weights: torch.Tensor, kernels: torch.Tensor) -> np.ndarray:
        return torch.tensordot(weights, kernels, 1).numpy()

    penalties, strengths = (1.0, 10.0, 100.0), (0.1, 0.5, 0.9)
    qualities = np.zeros((len(strengths), len(penalties)))
    for fitted, held in folds(y).split(side_by_side(X), y):
        scores = np.full((*qualities.shape, len(held), columns.shape[1]), -np.inf)
        for number, column in enumerate(columns.T):
            if len(np.unique(column[fitted])) == 1:
                continue  # a class that this fold has not seen
            for at, lam in enumerate(strengths):
                gram = combined(weights_of(fitted, column, lam), grams)
                for place, C in enumerate(penalties):
                    machine = SVC(kernel="precomputed", C=C).fit(gram[np.ix_(fitted, fitted)], column[fitted])
                    scores[at, place, :, number] = machine.decision_function(gram[np.ix_(held, fitted)])
        qualities += [[quality(found, y[held]) for found in row] for row in scores]
    at, place = np.unravel_index(qualities.argmax(), qualities.shape)
    learned = [weights_of(np.arange(len(y)), column, strengths[at]) for column in columns.T]
    machines = [
        SVC(kernel="precomputed", C=penalties[place]).fit(combined(weights, grams), column)
        for weights, column in zip(learned, columns.T, strict=True)
    ]

    def answer(asked: Views) -> Answers:
        cross = torch.from_numpy(np.array([*kernels(asked)]))
        found = [m.decision_function(combined(w, cross)) for w, m in zip(learned, machines, strict=True)]
        return decided(np.column_stack(found), y)

    return answer


def himalaya(X: Views, y: np.ndarray) -> Answering:
    """Ridge regression of classes, labels or numbers; weights of the kernels and strengths by random search."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    numbers = np.issubdtype(y.dtype, np.floating)
    targets = y if numbers else 2.0 * columns_of(y) - 1.0
    mean, scale = targets.mean(0), targets.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    kernels = gaussians(X, WIDTHS, linear=True)
    settings = {"alphas": np.logspace(-4, 4, 17), "n_iter": 50, "progress_bar": False}
    parts = [*folds(y).split(side_by_side(X), y)]
    ridge = MultipleKernelRidgeCV("precomputed", solver_params=settings, cv=parts, random_state=0)
    ridge.fit(np.array([*kernels(X)]), (targets - mean) / scale)

    def answer(asked: Views) -> Answers:
        found = ridge.predict(np.array([*kernels(asked)])) * scale + mean
        return Answers(found, found) if numbers else decided(found, y)

    return answer


def xrfm(X: Views, y: np.ndarray) -> Answering:
    """Views side by side, standardised; a fifth of the known samples is what xRFM stops and chooses by."""
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    scaler = StandardScaler().fit(side_by_side(X))
    known = scaler.transform(side_by_side(X)).astype(np.float32)
    fitted, held = next(folds(y, 5).split(known, y))
    targets = columns_of(y).astype(np.float32)
    best: tuple[float, Any] = (-np.inf, None)
    for bandwidth, strength in product((3.0, 10.0, 30.0), (1e-3, 1e-1)):
        machine = xRFM(
            {
                "model": {"kernel": "l2_high_dim", "bandwidth": bandwidth, "exponent": 1.0, "diag": False},
                "fit": {"reg": strength, "iters": 5, "return_best_params": True, "early_stop_rfm": True},
            },
            device=torch.device("cpu"),
            tuning_metric="mse",
            random_state=0,
            verbose=False,
        ).fit(known[fitted], targets[fitted], known[held], targets[held])
        best = max(best, (quality(machine.predict(known[held]), y[held]), machine), key=lambda found: found[0])
    chosen = best[1]
    return lambda asked: decided(chosen.predict(scaler.transform(side_by_side(asked)).astype(np.float32)), y, 0.5)


def of_ours(name: str, **network: Any) -> Method:
    """As it comes; with parameters of its network, what the claim compares it with."""

    def fit(X: Views, y: np.ndarray) -> Answering:
        import gramless as gl

        kernel = gl.DeepKernelNetwork(**network) if network else None
        model = getattr(gl, name)(kernel, random_state=0).fit(gl.Views(X), y)

        def answer(asked: Views) -> Answers:
            scores = model.decision_function(gl.Views(asked)) if y.ndim == 2 else np.empty(0)
            return Answers(model.predict(gl.Views(asked)), scores)

        return answer

    return fit


OURS = ("DeepMapClassifier", "DeepKernelClassifier")
AVERAGE = "average of our own kernels"
INSTALLED_APART = {"EasyMKL": "MKLpy==0.6", "himalaya": "himalaya==0.4.11 packaging", "xRFM": "xrfm==0.4.5"}
METHODS: dict[str, Method] = {
    **{name: of_ours(name) for name in OURS},
    AVERAGE: of_ours("DeepKernelClassifier", learning=None, weights="uniform"),
    "average of Gaussian kernels, SVM": average_kernel,
    "logistic regression": on_columns(LogisticRegression(max_iter=500), {"C": PENALTIES}),
    "linear SVM": on_columns(LinearSVC(), {"C": [0.0001, 0.001, 0.01, 0.1, 1.0]}),
    "RBF SVM": on_columns(SVC(), {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 1e-4, 1e-3, 1e-2]}),
    "extra trees": extra_trees,
    "EasyMKL": easy_mkl,
    "himalaya": himalaya,
    "xRFM": xrfm,
}


def memory(field: str) -> int:
    """VmHWM, the highest, or VmRSS, of now. What getrusage says is not less than what the parent process had."""
    return 1024 * int(Path("/proc/self/status").read_text().partition(field)[2].split()[1])


def main(name: str, problem: str, answers: str, limit: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1))  # other work on the machine does not count
    warnings.simplefilter("ignore")
    with np.load(problem) as arrays:
        known, asked = (
            {key.partition("/")[2]: arrays[key] for key in arrays.files if key.startswith(kind)}
            for kind in ("known/", "asked/")
        )
        y = arrays["y"]
    some = np.random.default_rng(0).random((2, 30, 4))
    METHODS[name]({"a": some[0], "b": some[1]}, np.arange(30) % 3)  # imports, and compiles
    before, started, worked = memory("VmRSS"), time.perf_counter(), time.process_time()
    answer = METHODS[name](known, y)
    fitted, worked = time.perf_counter(), time.process_time() - worked
    predicted, scores = answer(asked)
    answered = time.perf_counter()
    np.savez(answers, predicted=predicted, scores=scores)
    figures = {"fit_seconds": fitted - started, "fit_cpu_seconds": worked, "predict_seconds": answered - fitted}
    print(json.dumps(figures | {"peak_bytes": memory("VmHWM") - before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
