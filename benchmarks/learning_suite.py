"""Claim: a kernel learned by leave-one-out beats the average of the same kernels, and learning through the dual.

Small multi-view sets, one NAME.npz each: view0, view1, ... (n, d) and y, classes or an indicator of labels. Training
parts of every set are drawn at random, stratified by class, and everything is chosen on them: C, and for the average
its gain, by three-fold cross-validation, in which a fold learns its own network. The rest is looked at once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from corel5k import svm_margins
from harness import report
from sklearn.metrics import average_precision_score, f1_score, label_ranking_average_precision_score
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

import gramless as gl

PENALTIES = (1.0, 10.0)
MOST_TRAINING_SAMPLES = 2_000  # kernel machines, learned four times per split
MAP = "DeepMapClassifier as it comes"
KERNEL_MACHINES: dict[str, list[dict[str, Any]]] = {
    "average, unlearned": [{"learning": None, "weights": "uniform", "output_gain": gain} for gain in (2.0, 6.0)],
    "leave-one-out (default)": [{}],
    "through the dual, 3-layer": [{"hidden": (80,), "learning": "supervised"}],
    "leave-one-out, 3-layer": [{"hidden": (8,), "activation": "exp"}],
}
"""Parameters of the DeepKernelNetwork of a DeepKernelClassifier to choose from, per method."""


@dataclass(frozen=True, eq=False)
class MultiViewSet:
    """y as the estimators take it, and the same as an indicator (n, n_labels)."""

    name: str
    views: gl.Views
    y: np.ndarray
    indicator: np.ndarray

    @property
    def multilabel(self) -> bool:
        return self.y.ndim == 2

    def split(self, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        strata = None if self.multilabel else self.y
        train, test = train_test_split(np.arange(len(self.y)), train_size=share, stratify=strata, random_state=seed)
        return train[:MOST_TRAINING_SAMPLES], test

    def folds(self, rows: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        folds = KFold if self.multilabel else StratifiedKFold
        return folds(3, shuffle=True, random_state=0).split(rows, self.y[rows])

    def judge(self, margins: np.ndarray, rows: np.ndarray) -> dict[str, float]:
        """Accuracy, or macro AP, macro F1 and LRAP; the first is what settings are chosen by. In percent."""
        truth = self.indicator[rows]
        if not self.multilabel:
            return {"accuracy": 100 * float(np.mean(margins.argmax(1) == truth.argmax(1)))}
        return {
            "macro AP": 100 * float(average_precision_score(truth, margins, average="macro")),
            "macro F1": 100 * float(f1_score(truth, margins > 0, average="macro")),
            "LRAP": 100 * float(label_ranking_average_precision_score(truth, margins)),
        }


def load(path: Path) -> MultiViewSet:
    with np.load(path) as arrays:
        views = gl.Views({f"view{i}": arrays[f"view{i}"].astype(np.float32) for i in range(len(arrays.files) - 1)})
        y = arrays["y"]
    indicator = y if y.ndim == 2 else (y[:, None] == np.unique(y))
    return MultiViewSet(path.stem, views, y, indicator.astype(np.int64))


def choose(
    data: MultiViewSet, rows: np.ndarray, candidates: list[dict[str, Any]], fixed: Mapping[str, Any]
) -> tuple[dict[str, Any], float]:
    """The network's parameters and C with the best mean score over the folds; a network does not depend on C."""
    views, indicator = data.views[rows], data.indicator[rows]
    scores: dict[tuple[int, float], float] = dict.fromkeys(product(range(len(candidates)), PENALTIES), 0.0)
    for fitted, held in data.folds(rows):
        for number, candidate in enumerate(candidates):
            network = gl.DeepKernelNetwork(**candidate, **fixed).fit(views[fitted], data.y[rows[fitted]])
            gram = network.kernel_.tensor(views, views)
            for C in PENALTIES:
                margins = svm_margins(gram, indicator, fitted, held, C)
                scores[number, C] += next(iter(data.judge(margins, rows[held]).values()))
    number, C = max(scores, key=lambda key: scores[key])
    return candidates[number], C


def run(data: MultiViewSet, method: str, share: float, split: int) -> dict[str, Any]:
    train, test = data.split(share, split)
    fixed: dict[str, Any] = {"random_state": split}
    chosen: dict[str, Any] = {}
    if method == MAP:
        model: Any = gl.DeepMapClassifier(**fixed)
    else:
        network, C = choose(data, train, KERNEL_MACHINES[method], fixed)
        chosen = network | {"C": C}
        model = gl.DeepKernelClassifier(gl.DeepKernelNetwork(**network, **fixed), C=C, **fixed)
    started = time.perf_counter()
    model.fit(data.views[train], data.y[train])
    seconds = time.perf_counter() - started
    return {"scores": data.judge(model.decision_function(data.views[test]), test), "seconds": seconds, "chosen": chosen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of NAME.npz")
    parser.add_argument("--sets", nargs="*", help="names; all by default")
    parser.add_argument("--share", type=float, default=0.3, help="of the samples, to learn from")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    asked = parser.parse_args()
    gl.set_config(device=asked.device)
    paths = sorted(asked.data.glob("*.npz"), key=lambda path: path.stat().st_size)
    names = [path.stem for path in paths if not asked.sets or path.stem in asked.sets]
    methods = [*KERNEL_MACHINES, MAP]
    runs: dict[str, dict[str, list[dict[str, Any]]]] = {method: {name: [] for name in names} for method in methods}
    for name in names:
        data = load(asked.data / f"{name}.npz")
        for split, method in product(range(asked.splits), methods):
            found = run(data, method, asked.share, split)
            runs[method][name].append(found)
            print(f"{name}, split {split}, {method}: {found}", flush=True)

    def mean_score(method: str, name: str) -> float:
        return float(np.mean([next(iter(found["scores"].values())) for found in runs[method][name]]))

    table = {method: {name: mean_score(method, name) for name in names} for method in methods}
    seconds = {m: sum(float(np.mean([f["seconds"] for f in runs[m][name]])) for name in names) for m in methods}
    report(
        "learning_suite",
        f"accuracy (macro AP where samples have several labels), {asked.share:.0%} to learn from, "
        f"mean of {asked.splits} splits; seconds of fitting every set once",
        ["", *names, "mean", "seconds"],
        [
            [m, *(f"{s:.1f}" for s in table[m].values()), f"{np.mean([*table[m].values()]):.2f}", f"{seconds[m]:.0f}"]
            for m in methods
        ],
        {"share": asked.share, "scores": table, "seconds": seconds, "runs": runs},
    )


if __name__ == "__main__":
    main()
