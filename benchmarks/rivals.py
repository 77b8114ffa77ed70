"""Claim: as it comes, without a setting, this package is ahead of what people would try on several views.

Multi-view sets, one NAME.npz each: view0, view1, ... (n, d) and y, classes; and, with --sklearn, scikit-learn's own as
one view. Training parts are drawn at random, stratified by class. Rivals have their few settings chosen by three-fold
cross-validation on the training part; ours have none. Accuracy on the rest, mean over splits; ranks over sets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import report
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import gramless as gl

Views = dict[str, np.ndarray]
Method = Callable[[Views, np.ndarray, Views], np.ndarray]
"""From training views and classes, and the views of others, to their classes."""

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
OURS = ("DeepMapClassifier", "DeepKernelClassifier")
SKLEARN = ("iris", "wine", "breast_cancer", "digits")


def folds() -> StratifiedKFold:
    return StratifiedKFold(3, shuffle=True, random_state=0)


def on_columns(estimator: Any, grid: dict[str, Any]) -> Method:
    """All views side by side, standardised."""

    def answers(X: Views, y: np.ndarray, asked: Views) -> np.ndarray:
        pipeline = make_pipeline(StandardScaler(), estimator)
        settings = {f"{pipeline.steps[-1][0]}__{name}": values for name, values in grid.items()}
        search = GridSearchCV(pipeline, settings, cv=folds())
        return search.fit(side_by_side(X), y).predict(side_by_side(asked))

    return answers


def side_by_side(X: Views) -> np.ndarray:
    return np.concatenate([*X.values()], axis=1)


def average_kernel(X: Views, y: np.ndarray, asked: Views) -> np.ndarray:
    """One Gaussian per standardised view, as wide as samples are apart, and one SVM per class on their mean."""
    gram, cross = 0.0, 0.0
    for name, block in X.items():
        scaler = StandardScaler().fit(block)
        known, new = scaler.transform(block), scaler.transform(asked[name])
        distances = euclidean_distances(known, squared=True)
        gram = gram + np.exp(-distances / distances.mean()) / len(X)
        cross = cross + np.exp(-euclidean_distances(new, known, squared=True) / distances.mean()) / len(X)
    machine = OneVsRestClassifier(SVC(kernel="precomputed"))
    search = GridSearchCV(machine, {"estimator__C": PENALTIES}, cv=folds())
    return search.fit(gram, y).predict(cross)


def of_ours(kind: Any) -> Method:
    return lambda X, y, asked: kind(random_state=0).fit(gl.Views(X), y).predict(gl.Views(asked))


METHODS: dict[str, Method] = {
    "DeepMapClassifier": of_ours(gl.DeepMapClassifier),
    "DeepKernelClassifier": of_ours(gl.DeepKernelClassifier),
    "average of Gaussian kernels, SVM": average_kernel,
    "logistic regression": on_columns(LogisticRegression(max_iter=500), {"C": PENALTIES}),
    "linear SVM": on_columns(LinearSVC(), {"C": [0.0001, 0.001, 0.01, 0.1, 1.0]}),
    "RBF SVM": on_columns(SVC(), {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 1e-4, 1e-3, 1e-2]}),
    "extra trees": on_columns(ExtraTreesClassifier(500, random_state=0), {}),
}


def load(source: str) -> tuple[Views, np.ndarray]:
    if source in SKLEARN:
        X, y = getattr(datasets, f"load_{source}")(return_X_y=True)
        return {"all": X}, y
    with np.load(source) as arrays:
        views = {name: arrays[name].astype(np.float64) for name in arrays.files if name != "y"}
        return views, arrays["y"]


def run(views: Views, y: np.ndarray, method: Method, share: float, split: int) -> tuple[float, float]:
    """Accuracy in percent, and seconds of fitting and answering."""
    train, test = train_test_split(np.arange(len(y)), train_size=share, stratify=y, random_state=split)
    started = time.perf_counter()
    found = method({n: b[train] for n, b in views.items()}, y[train], {n: b[test] for n, b in views.items()})
    return 100.0 * float(np.mean(found == y[test])), time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of NAME.npz")
    parser.add_argument("--sets", nargs="*", help="names of files; all by default")
    parser.add_argument("--sklearn", action="store_true", help="scikit-learn's sets as well")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.3, 0.7], help="of the samples, to learn from")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    asked = parser.parse_args()
    paths = sorted(asked.data.glob("*.npz"), key=lambda path: path.stat().st_size) if asked.data else []
    sources = [str(path) for path in paths if not asked.sets or path.stem in asked.sets]
    sources += SKLEARN if asked.sklearn else ()
    warnings.simplefilter("ignore", ConvergenceWarning)
    scores: dict[str, dict[str, list[float]]] = {method: {} for method in asked.methods}
    seconds = dict.fromkeys(asked.methods, 0.0)
    for source, share in product(sources, asked.shares):
        views, y = load(source)
        if y.ndim == 2:
            continue  # several labels per sample: benchmarks/learning_suite.py
        cell = f"{Path(source).stem} {share:.0%}"
        for method, split in product(asked.methods, range(asked.splits)):
            accuracy, taken = run(views, y, METHODS[method], share, split)
            scores[method].setdefault(cell, []).append(accuracy)
            seconds[method] += taken / asked.splits
            print(f"{cell}, split {split}, {method}: {accuracy:.1f} in {taken:.1f} s", flush=True)
    cells = list(next(iter(scores.values())))
    means = np.array([[np.mean(scores[method][cell]) for cell in cells] for method in asked.methods])
    ranks = np.array([rankdata(-column) for column in means.T]).mean(0)
    report(
        "rivals",
        f"accuracy in percent, mean of {asked.splits} splits; mean rank; seconds for every set once",
        ["", *cells, "mean", "rank", "seconds"],
        [
            [method, *(f"{score:.1f}" for score in row), f"{row.mean():.2f}", f"{rank:.2f}", f"{seconds[method]:.0f}"]
            for method, row, rank in zip(asked.methods, means, ranks, strict=True)
        ],
        {"scores": scores, "seconds": seconds, "shares": asked.shares},
    )


if __name__ == "__main__":
    main()
