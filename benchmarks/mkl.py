"""Claim: a fifth of the time and of the memory of MKLpy's EasyMKL, at no lower test accuracy.

Ten Gaussian kernels of different widths on 8,000 training samples, 2,000 test samples, two classes. From samples to
predictions, each side in a process of its own on two threads; wall time after imports, highest resident memory (all of
it, and the part above the imports); medians over repeats, and every repeat draws other samples.
  EasyMKL  lam = 0.1, ten kernel matrices in float64, SVC with C = 10 on their combination (its own learner, KOMD, takes
           an order of magnitude longer and is less accurate here)
  ours     the weights of the same ten kernels learned from 2,000 of the training samples, compiled on 1,000 landmarks,
           a linear SVM with the same C

MKLpy is no dependency of the project: without --mkl-python its environment is made in out/venvs on first use. Numba's
machine code is on disk when ours is timed, as it is on any but the first run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np

ENVIRONMENT = Path(__file__).parents[1] / "out" / "venvs" / "mklpy"
REQUIREMENTS = (
    "MKLpy==0.6",
    "cvxopt==1.3.3",
    "numpy==2.4.6",
    "scikit-learn==1.9.1",
    "scipy==1.17.1",
    "torch==2.13.0",
)
SCALES = np.geomspace(0.25, 8.0, 10)
C = 10.0
N_FEATURES, N_TEST = 4, 2_000
FEWER_SAMPLES, N_LANDMARKS = 2_000, 1_000

Side = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From training samples, their classes, and test samples to predicted classes."""


def chequers(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in a wavy chequerboard of two features, bent by two others: wide kernels alone see nothing."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_rows, N_FEATURES)).astype(np.float32)
    waves = np.sin(2.5 * x[:, 0]) * np.sin(2.5 * x[:, 1]) + 0.3 * x[:, 2] * x[:, 3]
    return x, (waves + 0.1 * rng.standard_normal(n_rows) > 0).astype(np.int64)


def prepare_easymkl() -> Side:
    import torch
    from MKLpy.algorithms import EasyMKL
    from sklearn.svm import SVC

    torch.set_num_threads(2)

    def kernels(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
        squares = torch.cdist(a, b).square_()
        return [(squares * (-0.5 / scale**2)).exp_() for scale in SCALES]

    def run(x: np.ndarray, y: np.ndarray, x_test: np.ndarray) -> np.ndarray:
        train, test = torch.from_numpy(x).double(), torch.from_numpy(x_test).double()
        machine = EasyMKL(lam=0.1, learner=SVC(C=C)).fit(kernels(train, train), torch.from_numpy(y))
        return np.asarray(machine.predict(kernels(test, train)))

    return run


def prepare_ours() -> Side:
    import torch

    import gramless as gl
    from gramless.kernels import Gaussian

    torch.set_num_threads(2)
    gl.set_config(device="cpu")

    def run(x: np.ndarray, y: np.ndarray, x_test: np.ndarray) -> np.ndarray:
        kernels = [Gaussian(scale=float(scale)) for scale in SCALES]
        machine = gl.DeepMapClassifier(
            gl.DeepKernelNetwork(kernels, learning=gl.Supervised(max_samples=FEWER_SAMPLES)),
            n_landmarks=min(N_LANDMARKS, len(x)),
            tuning=None,
            C=C,
            random_state=0,
        )
        return machine.fit(x, y).predict(x_test)

    return run


SIDES: dict[str, Callable[[], Side]] = {"EasyMKL": prepare_easymkl, "ours": prepare_ours}


def measure(side: str, n_train: int, seed: int) -> dict[str, float]:
    run = SIDES[side]()
    x, y = chequers(n_train + N_TEST, seed)
    imported = peak_bytes()
    started = time.perf_counter()
    predicted = run(x[:n_train], y[:n_train], x[n_train:])
    return {
        "seconds": time.perf_counter() - started,
        "peak_bytes": peak_bytes(),
        "peak_bytes_above_imports": peak_bytes() - imported,
        "accuracy_percent": 100 * float(np.mean(predicted == y[n_train:])),
    }


def peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def environment_of_mklpy() -> str:
    """The Python of an environment with MKLpy, made if there is none."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "complete").exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        (ENVIRONMENT / "complete").touch()
    return str(python)


def compare(n_train: int, mkl_python: str, repeats: int, seed: int) -> None:
    from harness import HERE, at_least, at_most, report, run_fresh

    def run(side: str, n: int, seed: int) -> dict[str, float]:
        python = sys.executable if side == "ours" else mkl_python
        return run_fresh(
            [python, "-W", "ignore", str(HERE / "mkl.py"), f"--side={side}", f"--train={n}", f"--seed={seed}"]
        )

    run("ours", 200, seed)  # whatever has to be compiled is compiled here
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for repeat in range(repeats):
        for side, taken in runs.items():
            taken.append(run(side, n_train, seed + repeat))
    results = {
        side: {figure: float(np.median([r[figure] for r in taken])) for figure in taken[0]}
        for side, taken in runs.items()
    }
    ours, theirs = results["ours"], results["EasyMKL"]
    report(
        "mkl",
        f"{len(SCALES)} Gaussian kernels, {n_train:,} training and {N_TEST:,} test samples; ours: weights from "
        f"{FEWER_SAMPLES:,} of them, {N_LANDMARKS:,} landmarks",
        ["", "seconds", "peak memory (GiB)", "above imports (GiB)", "test accuracy (%)"],
        [
            [
                side,
                f"{r['seconds']:.1f}",
                f"{r['peak_bytes'] / 2**30:.2f}",
                f"{r['peak_bytes_above_imports'] / 2**30:.2f}",
                f"{r['accuracy_percent']:.2f}",
            ]
            for side, r in results.items()
        ],
        {"n_train": n_train, "n_test": N_TEST, "repeats": repeats, "runs": runs},
        [
            at_most("ten kernels: share of EasyMKL's time", ours["seconds"] / theirs["seconds"], 0.2),
            at_most("ten kernels: share of EasyMKL's memory", ours["peak_bytes"] / theirs["peak_bytes"], 0.2),
            at_least(
                "ten kernels: test accuracy beyond EasyMKL's, in points",
                ours["accuracy_percent"] - theirs["accuracy_percent"],
                0,
            ),
        ],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=8000)
    parser.add_argument("--mkl-python", help="of an environment that has MKLpy")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="three repeats")
    parser.add_argument("--side", choices=SIDES, help="measure this side here, and print the figures as JSON")
    chosen = parser.parse_args()
    if chosen.side:
        print(json.dumps(measure(chosen.side, chosen.train, chosen.seed)))
    else:
        python = chosen.mkl_python or environment_of_mklpy()
        compare(chosen.train, python, 3 if chosen.quick else chosen.repeats, chosen.seed)
