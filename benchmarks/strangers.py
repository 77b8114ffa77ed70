"""Claim: a stranger's first try works, without a setting: behind any scaler, or none, of any type, in a moment.

scikit-learn's own sets; ours as they come, the best of an SVM and logistic regression (standardised or raw, settings
chosen by five-fold cross-validation on the training part). Accuracy on the other 30 %, mean over splits. Seconds are
those of a fit in a process that has compiled already, beside the processor's; the load of the machine is in the file.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from harness import at_least, at_most, parser_of, report
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

import gramless as gl
from gramless.support.threads import one_thread

SETS = ("iris", "wine", "breast_cancer", "digits")
SECONDS = {"breast_cancer": 3.0, "digits": 10.0}
SVM = {"model__C": [0.1, 1.0, 10.0, 100.0, 1000.0], "model__gamma": ["scale", 1e-4, 1e-3, 1e-2, 1e-1]}
LOGISTIC = {"model__C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]}
NAMES = np.array([f"class {number}" for number in range(10)])


def alone(X: Any, y: Any) -> tuple[Any, Any, Any]:
    return gl.DeepMapClassifier(), X, y


TRIES: dict[str, Callable[[Any, Any], tuple[Any, Any, Any]]] = {
    "StandardScaler": lambda X, y: (make_pipeline(StandardScaler(), gl.DeepMapClassifier()), X, y),
    "MinMaxScaler": lambda X, y: (make_pipeline(MinMaxScaler(), gl.DeepMapClassifier()), X, y),
    "float32": lambda X, y: alone(X.astype(np.float32), y),
    "float64": alone,
    "DataFrame": lambda X, y: alone(pd.DataFrame(X).add_prefix("column "), pd.Series(y)),
    "classes by name": lambda X, y: alone(X, NAMES[y]),
}
"""From samples and classes to an estimator, and to samples and classes as it is given them."""


def best_rival(X: np.ndarray, y: np.ndarray, split: int) -> dict[str, float]:
    """Accuracy in percent of each."""
    X, asked, y, truth = parts(X, y, split)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = {}
    for name, model, grid in (("SVM", SVC(), SVM), ("logistic regression", LogisticRegression(max_iter=500), LOGISTIC)):
        pipeline = Pipeline([("scale", StandardScaler()), ("model", model)])
        search = GridSearchCV(pipeline, grid | {"scale": [StandardScaler(), "passthrough"]}, cv=folds)
        found[name] = 100.0 * search.fit(X, y).score(asked, truth)
    return found


def one_try(name: str, X: np.ndarray, y: np.ndarray, split: int) -> tuple[float, float, float]:
    """Accuracy in percent, and seconds of the fit: by the clock, and of all processors together."""
    model, given, classes = TRIES[name](X, y)
    X, asked, y, truth = parts(given, classes, split)
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds = time.perf_counter() - clock, time.process_time() - processor
    return 100.0 * model.score(asked, truth), *seconds


def parts(X: Any, y: Any, split: int) -> Any:
    return train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)


def main() -> None:
    parser = parser_of(__doc__, splits=3)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--tries", nargs="*", default=list(TRIES), choices=list(TRIES))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    one_try("StandardScaler", *datasets.load_iris(return_X_y=True), 0)  # compiles
    rows, claims, figures = [], [], {}
    for name in asked.sets:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        one_try("float64", X, y, 0)
        with one_thread():  # on a machine that others use, theirs would wait for each other as well
            rivals = [best_rival(X, y, split) for split in range(asked.splits)]
        best = max(float(np.mean([each[rival] for each in rivals])) for rival in rivals[0])
        figures[name] = {"rivals": rivals, "tries": {}}
        for kind in asked.tries:
            found = [one_try(kind, X, y, split) for split in range(asked.splits)]
            accuracy = float(np.mean([each[0] for each in found]))
            clock, processor = np.median([each[1:] for each in found], axis=0).tolist()
            figures[name]["tries"][kind] = found
            rows.append([name, kind, f"{accuracy:.2f}", f"{best:.2f}", f"{clock:.2f}", f"{processor:.2f}"])
            print(*rows[-1], sep=", ", flush=True)
            claims.append(at_least(f"{name}, {kind}: points ahead of the best rival", accuracy - best, -1.0))
            if name in SECONDS:
                claims.append(at_most(f"{name}, {kind}: seconds of a fit", clock, SECONDS[name]))
    report(
        "strangers",
        f"accuracy in percent without a setting, mean of {asked.splits} splits; seconds of a fit, median",
        ["", "given", "accuracy", "best rival", "seconds", "of processors"],
        rows,
        {"sets": figures, "load": os.getloadavg()},
        claims,
    )


if __name__ == "__main__":
    main()
