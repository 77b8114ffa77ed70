"""Claim: as it comes, without a setting, this package is ahead of what people would try on several views.

Multi-view sets, one NAME.npz each: view0, view1, ... (n, d) and y, classes or an indicator of labels; and, with
--sklearn, scikit-learn's own as one view. Training parts are drawn at random, stratified by class. Rivals
(rival_methods.py) have their few settings chosen on the training part; ours have none. The rest is looked at once:
accuracy, or macro F1, LRAP and the mean over labels of average precision. Every method runs on every split in a
process of its own, whose times and memory are noted; give OMP_NUM_THREADS and NUMBA_NUM_THREADS for one thread.

Each result is kept in the file --cells as soon as it is there, and a run that was stopped goes on; ours are computed
again when the package has changed since. Rivals of other environments take part with --python.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import HERE, RESULTS, Claim, at_least, at_most, parser_of, report
from rival_methods import AVERAGE, INSTALLED_APART, METHODS, OURS, Views
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.metrics import average_precision_score, f1_score, label_ranking_average_precision_score
from sklearn.model_selection import train_test_split

from gramless.support.atomic import write_atomically

SKLEARN = ("iris", "wine", "breast_cancer", "digits")
FIGURES = {"fit_seconds": "fit s", "fit_cpu_seconds": "fit CPU s", "predict_seconds": "predict s", "peak_bytes": "MiB"}

Cell = dict[str, Any]


def load(source: str) -> tuple[Views, np.ndarray]:
    if source in SKLEARN:
        X, y = getattr(datasets, f"load_{source}")(return_X_y=True)
        return {"all": X}, y
    with np.load(source) as arrays:
        views = {name: arrays[name].astype(np.float64) for name in arrays.files if name != "y"}
        y = arrays["y"]
    return views, y.astype(np.int64) if y.ndim == 2 else np.unique(y, return_inverse=True)[1]


def judge(truth: np.ndarray, predicted: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """In percent."""
    if truth.ndim == 1:
        return {"accuracy": 100 * float(np.mean(predicted == truth))}
    return {
        "macro F1": 100 * float(f1_score(truth, predicted, average="macro")),
        "LRAP": 100 * float(label_ranking_average_precision_score(truth, scores)),
        "mAP": 100 * float(average_precision_score(truth, scores, average="macro")),
    }


def run_apart(python: str, method: str, known: Views, y: np.ndarray, asked: Views, limit: float) -> Cell:
    """Answers of one method to one problem, from a process of its own, with its seconds and memory.

    "over" is the limit, in seconds of the processor, that it did not keep; there are no answers then.
    """
    with tempfile.TemporaryDirectory() as folder:
        problem, answers = Path(folder, "problem.npz"), Path(folder, "answers.npz")
        blocks = {f"known/{n}": b for n, b in known.items()} | {f"asked/{n}": b for n, b in asked.items()}
        np.savez(problem, y=y, **blocks)  # type: ignore[arg-type]
        command = [python, str(HERE / "rival_methods.py"), method, str(problem), str(answers), str(int(limit))]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return {"over": limit}
        if done.returncode:
            return {"failed": done.returncode}
        with np.load(answers) as found:
            return {**json.loads(done.stdout.splitlines()[-1]), **{name: found[name] for name in found.files}}


def measure(python: str, method: str, views: Views, y: np.ndarray, share: float, split: int, limit: float) -> Cell:
    strata = y if y.ndim == 1 else None
    train, test = train_test_split(np.arange(len(y)), train_size=share, stratify=strata, random_state=split)
    known, asked = ({name: block[rows] for name, block in views.items()} for rows in (train, test))
    cell = run_apart(python, method, known, y[train], asked, limit)
    if "predicted" not in cell:
        return cell
    return judge(y[test], cell.pop("predicted"), cell.pop("scores")) | cell


def commit_of_package() -> str:
    command = ["git", "log", "-1", "--format=%h", "--", "src"]
    return subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False).stdout.strip()


class Cells:
    """What was measured, by set, share, split and method; in a file that is written anew with every result."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commit = commit_of_package()
        self.found: dict[str, Cell] = json.loads(path.read_text()) if path.exists() else {}

    def has(self, key: str, limit: float) -> bool:
        """Whether there is no reason to compute it again: it failed, the package or the limit has changed."""
        cell = self.found.get(key, {"failed": None})
        return "failed" not in cell and cell.get("over", limit) >= limit and cell.get("commit", "") in ("", self.commit)

    def keep(self, key: str, cell: Cell, *, ours: bool) -> None:
        self.found[key] = cell | ({"commit": self.commit} if ours else {})
        text = json.dumps(self.found, indent=1)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, lambda file: file.write(text.encode()))

    def complete(self, column: str, methods: Sequence[str], splits: int) -> bool:
        return all(f"{column}, {split}, {method}" in self.found for split in range(splits) for method in methods)

    def mean(self, column: str, method: str, splits: int, figure: str) -> float:
        """NaN unless all splits are there."""
        cells = [self.found.get(f"{column}, {split}, {method}", {}) for split in range(splits)]
        return float(np.mean([cell.get(figure, np.nan) for cell in cells]))


def tables(cells: Cells, columns: Sequence[str], methods: Sequence[str], splits: int, into: Path | None) -> None:
    """Of columns in which every method has had its turn; what failed or took too long is in no mean and no rank.

    into : a file that has the table between <!-- rivals --> and <!-- /rivals -->
    """

    warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing, which are NaN

    def of(figure: str, chosen: Sequence[str] = columns) -> np.ndarray:
        return np.array([[cells.mean(column, m, splits, figure) for column in chosen] for m in methods])

    rivals = [at for at, method in enumerate(methods) if method not in (*OURS, AVERAGE)]
    done = [column for column in columns if cells.complete(column, methods, splits)]
    labelled = [column for column in done if np.isfinite(of("mAP", [column])).any()]
    complete = [column for column in done if column not in labelled]
    scores = of("accuracy", complete)
    claims: list[Claim] = []
    ranks = np.array([rankdata(-column, nan_policy="omit") for column in scores.T]).reshape(-1, len(methods))
    costs = {name: np.nanmean(of(figure), axis=1) for figure, name in FIGURES.items()}
    costs["MiB"] = costs["MiB"] / 2**20
    for ours in (at for at, method in enumerate(methods) if method in OURS and complete and rivals):
        name, mine, theirs = methods[ours], scores[ours], scores[rivals]
        place = 1 + np.where(np.isnan(mine), len(rivals), (theirs > mine).sum(0) + 0.5 * (theirs == mine).sum(0))
        ahead = [np.nanmean(mine - rival) for rival in theirs if np.isfinite(rival).any()]
        claims += [
            at_most(f"{name}: mean rank among rivals", float(place.mean()), 2.0),
            at_most(f"{name}: points behind the best rival of a set", float(np.nanmax(theirs - mine)), 1.0),
            at_least(f"{name}: points ahead of every rival's mean", float(min(ahead)), 1.5),
        ]
        if AVERAGE in methods:
            behind = float(np.nanmax(scores[methods.index(AVERAGE)] - mine))
            claims.append(at_most(f"{name}: points behind the average of its own kernels", behind, 0.5))
        for column, figure in product(labelled, ("macro F1", "LRAP", "mAP")):
            found = of(figure, [column])[:, 0]
            best = float(np.nanmax(found[rivals]))
            claims.append(at_least(f"{name}: {figure} of {column}", float(found[ours]), round(best - 0.5, 2)))
    several = {f"{c}, {figure}": of(figure, [c])[:, 0] for c in labelled for figure in ("macro F1", "LRAP", "mAP")}
    shown = {**dict(zip(complete, scores.T, strict=True)), **several, "mean": np.nanmean(scores, axis=1)}
    shown |= {"rank": np.nanmean(ranks, axis=0), **costs}
    rows = [[name, *("-" if np.isnan(value) else f"{value:.1f}" for value in row)] for name, row in shown.items()]
    if into is not None:
        qualities = rows[: -len(costs)]  # costs are means over what each method has finished
        lines = [["", *methods], ["---", *["---:"] * len(methods)], *qualities]
        text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        marks = re.compile(r"(?<=<!-- rivals -->\n).*?(?=<!-- /rivals -->)", re.DOTALL)
        into.write_text(marks.sub(lambda _: text, into.read_text()))
    report(
        "rivals",
        f"accuracy in percent (and what labels are judged by), mean of {splits} splits; rank; seconds and memory "
        "above what a tiny fit takes, mean over what each method has finished",
        ["", *methods],
        rows,
        {"cells": cells.found},
        claims,
    )


def main() -> None:
    parser = parser_of(__doc__, splits=3)
    parser.add_argument("--data", type=Path, help="folder of NAME.npz")
    parser.add_argument("--sets", nargs="*", help="names of files; all by default")
    parser.add_argument("--sklearn", action="store_true", help="scikit-learn's sets as well")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.3, 0.7], help="of the samples, to learn from")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--python", help="of an environment that has " + ", ".join(INSTALLED_APART))
    parser.add_argument("--limit", type=float, default=900.0, help="processor seconds of one method on one split")
    parser.add_argument("--cells", type=Path, default=RESULTS / "rivals-cells.json", help="where results are kept")
    parser.add_argument("--table", action="store_true", help="compute nothing, show what is there")
    parser.add_argument("--into", type=Path, help="file with a place for the table")
    asked = parser.parse_args()
    paths = sorted(asked.data.glob("*.npz")) if asked.data else []
    sources = [str(path) for path in paths if not asked.sets or path.stem in asked.sets]
    sources = sorted([*sources, *(SKLEARN if asked.sklearn else ())], key=lambda source: len(load(source)[1]))
    apart = [method for method in asked.methods if method in INSTALLED_APART and not asked.python]
    if apart and not asked.table:
        packages = " ".join(INSTALLED_APART[method] for method in apart)
        print(f"without {', '.join(apart)}: `pip install {packages} torch==2.13.0` somewhere, and say --python")
    methods = [method for method in asked.methods if asked.table or method not in apart]
    cells, columns = Cells(asked.cells), [f"{Path(s).stem} {share:.0%}" for s, share in product(sources, asked.shares)]
    try:
        for source, share in product(sources, () if asked.table else asked.shares):
            views, y = load(source)
            for split, method in product(range(asked.splits), methods):
                key = f"{Path(source).stem} {share:.0%}, {split}, {method}"
                if cells.has(key, asked.limit):
                    continue
                python = asked.python if method in INSTALLED_APART else sys.executable
                cell = measure(python, method, views, y, share, split, asked.limit)
                cells.keep(key, cell, ours=method in (*OURS, AVERAGE))
                print(f"{key}: {' '.join(f'{n} {v:.4g}' for n, v in cell.items())}", flush=True)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here")
    tables(cells, columns, methods, asked.splits, asked.into)


if __name__ == "__main__":
    main()
