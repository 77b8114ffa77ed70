"""Claim: the regressors as they come predict numbers as well as the best of their rivals, and know how well.

Sets of scikit-learn's, made-up houses, and with `--data FOLDER` one problem of every multi-view set NAME.npz in it
(view0, view1, ...; y is not looked at): the first principal component of the last view, from the other views. Rivals
get standardised columns and choose their settings by cross-validation on training samples; himalaya, which has several
kernels as well (rival_methods.py), takes part with --python. The test part is looked at once. Each result is kept in
the file --cells, from where a run that was stopped goes on, as in rivals.py.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import RESULTS, at_least, at_most, parser_of, report
from rival_methods import INSTALLED_APART
from rivals import Cells, run_apart
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramless as gl

MOST_TRAINING_SAMPLES = 700  # the Gaussian process takes minutes for more
OURS = ("DeepKernelRegressor", "DeepMapRegressor")
NEARLY = 0.01  # of R2
COVERED = (0.85, 0.95)
NORMAL_90 = 1.6449
LIMIT = 900.0  # processor seconds of himalaya on one split

Fit = Callable[[list[np.ndarray], np.ndarray, int], Callable[[list[np.ndarray]], np.ndarray]]
"""From the views of training samples, their numbers and a seed to a function that predicts."""


@dataclass(frozen=True, eq=False)
class Problem:
    name: str
    views: list[np.ndarray]
    y: np.ndarray

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        train, test = train_test_split(np.arange(len(self.y)), train_size=0.7, random_state=seed)
        return train[:MOST_TRAINING_SAMPLES], test

    def rows(self, rows: np.ndarray) -> list[np.ndarray]:
        return [view[rows] for view in self.views]


def made_up_houses(n: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """Eight features of districts as in the California housing set, and prices that interact and end at a limit."""
    rng = np.random.default_rng(0)
    income, age = rng.lognormal(1.3, 0.45, n), rng.uniform(1, 52, n)
    rooms, bedrooms = rng.lognormal(1.65, 0.3, n), rng.lognormal(0.08, 0.1, n)
    people, household = rng.lognormal(7.0, 0.7, n), rng.lognormal(1.05, 0.25, n)
    north, east = rng.uniform(0, 10, n), rng.uniform(0, 8, n)
    coast = np.exp(-np.abs(east - 2 - 0.4 * north) / 1.5)
    price = 0.35 * income * (1 + coast) + 0.4 * np.sin(north) * coast + 0.15 * rooms / household + 0.004 * age
    price += 0.3 * np.exp(-np.square(north - 3) - np.square(east - 3)) * income + rng.normal(0, 0.3, n)
    features = np.column_stack([income, age, rooms, bedrooms, people, household, north, east])
    return features, np.minimum(price, 5.0)


def problems(folder: Path | None) -> list[Problem]:
    tables = {
        "diabetes": load_diabetes(return_X_y=True),
        "made-up houses": made_up_houses(),
        "Friedman 1": make_friedman1(1_000, noise=1.0, random_state=0),
        "Friedman 2": make_friedman2(1_000, noise=50.0, random_state=0),
        "Friedman 3": make_friedman3(1_000, noise=0.1, random_state=0),
    }
    found = [Problem(name, [X.astype(np.float32)], y) for name, (X, y) in tables.items()]
    for path in sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_size) if folder else []:
        with np.load(path) as arrays:
            views = [arrays[f"view{i}"].astype(np.float32) for i in range(len(arrays.files) - 1)]
        target = PCA(1, random_state=0).fit_transform(StandardScaler().fit_transform(views[-1]))[:, 0]
        found.append(Problem(path.stem, views[:-1], target.astype(np.float64)))
    return found


def kernel_ridge(views: list[np.ndarray], y: np.ndarray, seed: int) -> Callable[[list[np.ndarray]], np.ndarray]:
    width = sum(view.shape[1] for view in views)
    scale = float(y.std()) or 1.0
    grid = {
        "kernelridge__alpha": np.logspace(-4, 1, 6),
        "kernelridge__gamma": np.logspace(-2, 0.5, 6) / width,
    }
    machine = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    search = GridSearchCV(machine, grid, cv=5).fit(np.hstack(views), (y - y.mean()) / scale)
    return lambda new: search.predict(np.hstack(new)) * scale + y.mean()


def gaussian_process(views: list[np.ndarray], y: np.ndarray, seed: int) -> Callable[[list[np.ndarray]], np.ndarray]:
    width = sum(view.shape[1] for view in views)
    kernel = ConstantKernel() * RBF(np.sqrt(width), (1e-2, 1e4)) + WhiteKernel(0.1, (1e-6, 1e2))
    machine = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed))
    machine.fit(np.hstack(views), y)
    return lambda new: machine.predict(np.hstack(new))


def boosting(views: list[np.ndarray], y: np.ndarray, seed: int) -> Callable[[list[np.ndarray]], np.ndarray]:
    grid = {"learning_rate": [0.05, 0.1], "max_leaf_nodes": [7, 31]}
    search = GridSearchCV(HistGradientBoostingRegressor(random_state=seed), grid, cv=3).fit(np.hstack(views), y)
    return lambda new: search.predict(np.hstack(new))


RIVALS: dict[str, Fit] = {
    "KernelRidge, RBF, CV": kernel_ridge,
    "GaussianProcessRegressor, RBF + white": gaussian_process,
    "HistGradientBoosting, CV": boosting,
}
HIMALAYA = "himalaya"


def run(problem: Problem, method: str, seed: int, python: str) -> dict[str, float]:
    train, test = problem.split(seed)
    started = time.perf_counter()
    found: dict[str, float] = {}
    if method in OURS:
        # One array as it is, several as views: both as a stranger would give them.
        X: Any = problem.views[0] if len(problem.views) == 1 else gl.Views(problem.views)
        model = getattr(gl, method)(random_state=seed).fit(X[train], problem.y[train])
        found["seconds"] = time.perf_counter() - started
        means, deviations = model.predict(X[test], return_std=True)
        found["covered"] = float(np.mean(np.abs(problem.y[test] - means) <= NORMAL_90 * deviations))
    elif method == HIMALAYA:
        known, asked = ({str(at): view for at, view in enumerate(problem.rows(rows))} for rows in (train, test))
        apart = run_apart(python, HIMALAYA, known, problem.y[train, None], asked, LIMIT)
        if "predicted" not in apart:
            return apart
        found["seconds"], means = apart["fit_seconds"], apart["predicted"][:, 0]
    else:
        predict = RIVALS[method](problem.rows(train), problem.y[train], seed)
        found["seconds"] = time.perf_counter() - started
        means = predict(problem.rows(test))
    return {"R2": float(r2_score(problem.y[test], means)), **found}


def main() -> None:
    parser = parser_of(__doc__, splits=3)
    parser.add_argument("--data", type=Path, help="folder of NAME.npz")
    parser.add_argument("--sets", nargs="*", help="names; all by default")
    parser.add_argument("--python", help=f"of an environment that has {INSTALLED_APART[HIMALAYA]}")
    parser.add_argument("--cells", type=Path, default=RESULTS / "regression-cells.json", help="where results are kept")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # of the Gaussian process, at a bound
    chosen = [p for p in problems(asked.data) if not asked.sets or p.name in asked.sets]
    if not asked.python:
        print(f"without himalaya: `pip install {INSTALLED_APART[HIMALAYA]}` somewhere, and say --python")
    rivals = [*RIVALS, *([HIMALAYA] if asked.python else [])]
    methods, cells = [*OURS, *rivals], Cells(asked.cells)
    for problem, split, method in product(chosen, range(asked.splits), methods):
        key = f"{problem.name}, {split}, {method}"
        if not cells.has(key, LIMIT):
            cells.keep(key, run(problem, method, split, asked.python), ours=method in OURS)
            print(f"{key}: {cells.found[key]}", flush=True)

    def mean(method: str, name: str, figure: str) -> float:
        return cells.mean(name, method, asked.splits, figure)

    claims, rows = [], []
    for problem in chosen:
        scores = {method: mean(method, problem.name, "R2") for method in methods}
        best = float(np.nanmax([scores[rival] for rival in rivals]))
        covered = {method: mean(method, problem.name, "covered") for method in OURS}
        rows.append(
            [
                problem.name,
                *(f"{score:.3f}" for score in scores.values()),
                *(f"{100 * share:.0f} %" for share in covered.values()),
            ]
        )
        for method in OURS:
            claims.append(at_least(f"{problem.name}: R2 of {method}", scores[method], best - NEARLY))
            claims.append(
                at_least(f"{problem.name}: covered by 90 % intervals of {method}", covered[method], COVERED[0])
            )
            claims.append(
                at_most(f"{problem.name}: covered by 90 % intervals of {method}", covered[method], COVERED[1])
            )
    seconds = {m: float(np.nansum([mean(m, p.name, "seconds") for p in chosen])) for m in methods}
    rows.append(["seconds of fitting every set once", *(f"{s:.0f}" for s in seconds.values()), *[""] * len(OURS)])
    report(
        "regression",
        f"R2, mean of {asked.splits} splits, at most {MOST_TRAINING_SAMPLES} samples to learn from; and the share "
        "of test samples within 90 % intervals",
        ["", *methods, *(f"covered, {method}" for method in OURS)],
        rows,
        {"cells": cells.found, "seconds": seconds},
        claims,
    )


if __name__ == "__main__":
    main()
