"""Claim: samples that lack views are learned from and answered nearly as well as if they had them.

Multi-view sets, one NAME.npz each: view0, view1, ... (n, d) and y, classes. A share of all views, of training and of
test samples, is removed at random; every sample keeps at least one. Ours is the classifier as it comes, on rows of NaN;
the others are the same classifier on rows of the view's mean, and on the training samples that have every view (of test
samples that lack one, means are taken then). The test part is looked at once.
"""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path

import numpy as np
from harness import at_least, parser_of, report
from sklearn.model_selection import train_test_split

import gramless as gl

COMPLETE, OURS, MEAN, LEFT_OUT = "complete data", "views missing", "mean imputation", "samples left out"
NEARLY = 3.0  # points below complete data
METHODS = (COMPLETE, OURS, MEAN, LEFT_OUT)


def removed(views: list[np.ndarray], share: float, seed: int) -> list[np.ndarray]:
    """The same views with rows of NaN."""
    rng = np.random.default_rng(seed)
    lacks = rng.random((len(views[0]), len(views))) < share
    nothing = np.flatnonzero(lacks.all(1))
    lacks[nothing, rng.integers(len(views), size=len(nothing))] = False
    return [np.where(lacks[:, [i]], np.nan, view).astype(np.float32) for i, view in enumerate(views)]


def with_means(views: list[np.ndarray], known: list[np.ndarray]) -> list[np.ndarray]:
    return [np.where(np.isnan(x), np.nanmean(z, axis=0), x) for x, z in zip(views, known, strict=True)]


def accuracy(
    method: str, classifier: str, views: list[np.ndarray], y: np.ndarray, train_size: float, share: float, seed: int
) -> float | None:
    """In percent; None where nothing could be learned from."""
    train, test = train_test_split(np.arange(len(y)), train_size=train_size, stratify=y, random_state=seed)
    known, asked = [x[train] for x in views], [x[test] for x in views]
    known_y = y[train]
    if method != COMPLETE:
        known, asked = removed(known, share, seed), removed(asked, share, 1_000 + seed)
    if method in (MEAN, LEFT_OUT):
        asked = with_means(asked, known)
    if method == MEAN:
        known = with_means(known, known)
    if method == LEFT_OUT:
        whole = ~np.any([np.isnan(x[:, 0]) for x in known], axis=0)
        known, known_y = [x[whole] for x in known], known_y[whole]
        if len(np.unique(known_y)) < 2:
            return None
    model = getattr(gl, classifier)(random_state=seed).fit(gl.Views(known), known_y)
    return 100.0 * float(model.score(gl.Views(asked), y[test]))


def main() -> None:
    parser = parser_of(__doc__, splits=3)
    parser.add_argument("--data", type=Path, required=True, help="folder of NAME.npz")
    parser.add_argument("--sets", nargs="*", default=["HW", "proteinFold"])
    parser.add_argument("--train", type=float, default=0.7, help="share of samples to learn from")
    parser.add_argument("--missing", type=float, default=0.3, help="share of views that are removed")
    parser.add_argument(
        "--classifier", default="DeepMapClassifier", choices=("DeepMapClassifier", "DeepKernelClassifier")
    )
    asked = parser.parse_args()
    runs: dict[str, dict[str, list[float | None]]] = {name: {method: [] for method in METHODS} for name in asked.sets}
    for name, split, method in product(asked.sets, range(asked.splits), METHODS):
        with np.load(asked.data / f"{name}.npz") as arrays:
            views = [arrays[f"view{i}"].astype(np.float32) for i in range(len(arrays.files) - 1)]
            y = arrays["y"].ravel()
        started = time.perf_counter()
        found = accuracy(method, asked.classifier, views, y, asked.train, asked.missing, split)
        runs[name][method].append(found)
        told = "too few samples" if found is None else f"{found:.1f} %"
        print(f"{name}, split {split}, {method}: {told}, {time.perf_counter() - started:.0f} s", flush=True)

    means = {
        name: {m: None if None in found else float(np.mean(found)) for m, found in methods.items()}  # type: ignore[arg-type]
        for name, methods in runs.items()
    }
    claims, rows = [], []
    for name, of in means.items():
        rows.append([name, *("none" if score is None else f"{score:.1f}" for score in of.values())])
        ours, complete = of[OURS], of[COMPLETE]
        assert ours is not None
        assert complete is not None
        claims.append(at_least(f"{name}: accuracy with views missing", ours, complete - NEARLY))
        for rival in (MEAN, LEFT_OUT):
            score = of[rival]
            if score is not None:
                claims.append(at_least(f"{name}: accuracy with views missing, beside {rival}", ours, score))
    report(
        "missing",
        f"accuracy of {asked.classifier} in percent, {100 * asked.missing:.0f} % of the views removed, "
        f"{100 * asked.train:.0f} % of the samples to learn from, mean of {asked.splits} splits",
        ["", *METHODS],
        rows,
        {"runs": runs, "means": means},
        claims,
    )


if __name__ == "__main__":
    main()
