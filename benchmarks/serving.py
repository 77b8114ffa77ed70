"""Measured: the size of an ONNX file, and its speed in onnxruntime beside the engine's, in one run on the same data.

Four views, 1,000 columns in all, 16 kernels (linear, poly2, gaussian and intersection on every view), 80 hidden units,
500 landmarks; made-up histograms in float32. The map alone, and a classifier of ten classes on it. The engine fuses
kernels, layers and activations; onnxruntime runs operator by operator, in blocks of rows inside the file. Then one
sample at a time, as a server meets them, from one thread and from two, and the other kernels that are sums over
features. Times are the least of several: others use the machine too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from harness import THREADS, parser_of, report, time_rivals

import gramless as gl
from gramless.storage.onnx import export_onnx

WIDTHS = {"words": 400, "colours": 300, "shapes": 200, "texture": 100}
KERNELS = {"paper": ("linear", "poly2", "gaussian", "intersection"), "distances": ("gaussian", "laplacian", "chi2")}
N_CLASSES = 10
CALLS = 1000
ONE_BY_ONE = 300


def histograms(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """Rows of Dirichlet(0.3), in float32."""
    rng = np.random.default_rng(seed)
    blocks = {name: rng.standard_gamma(0.3, (n_rows, width), np.float32) for name, width in WIDTHS.items()}
    return {name: block / block.sum(1, keepdims=True) for name, block in blocks.items()}


class Served:
    """A model in a file, opened as a server would."""

    def __init__(self, model: Any, folder: Path, threads: int) -> None:
        path = folder / "model.onnx"
        export_onnx(model, path)
        self.bytes = path.stat().st_size
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads leave the engine alone
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._inputs = [each.name for each in self._session.get_inputs()]

    def __call__(self, X: dict[str, np.ndarray]) -> np.ndarray:
        """The first output: vectors or scores."""
        return self._session.run(None, {name: X[name] for name in self._inputs})[0]


def largest_share(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def call_often(answer: Callable[[Any], Any], sample: Any, n_threads: int) -> None:
    """CALLS answers to one sample, shared by so many threads."""
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda _: [answer(sample) for _ in range(CALLS // n_threads)], range(n_threads)))


def compare(n_samples: int, n_landmarks: int, threads: int, repeats: int, seed: int, folder: Path) -> None:
    X = histograms(n_samples, seed)
    one = {name: block[:1] for name, block in X.items()}
    y = np.random.default_rng(seed).integers(N_CLASSES, size=n_samples)

    def network(kernels: tuple[str, ...]) -> gl.DeepMapNetwork:
        kernel = gl.DeepKernelNetwork(kernels, (80,), learning=None, random_state=seed)
        return gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(X)

    maps = {f"map, {name} kernels": network(kernels) for name, kernels in KERNELS.items()}
    deep = gl.DeepKernelNetwork(KERNELS["paper"], (80,), learning=None)
    classifier = gl.DeepMapClassifier(deep, n_landmarks, tuning=None, random_state=seed).fit(X, y)
    engines = {name: each.transform for name, each in maps.items()} | {"classifier": classifier.decision_function}
    served = {name: Served(model, folder, threads) for name, model in (maps | {"classifier": classifier}).items()}
    rows, figures = [], {}
    for name, engine in engines.items():
        file = served[name]
        taken = time_rivals(
            {
                "engine": lambda engine=engine: engine(X),
                "onnxruntime": lambda file=file: file(X),
                "one thread": lambda engine=engine: call_often(engine, one, 1),
                "two threads": lambda engine=engine: call_often(engine, one, 2),
            },
            repeats,
            min,
        )
        taken |= time_rivals(
            {
                "engine, one sample": lambda engine=engine: engine(one),
                "onnxruntime, one sample": lambda file=file: file(one),
            },
            ONE_BY_ONE,
            min,
        )
        difference = largest_share(file(X), engine(X))
        per_sample = {rival: taken[rival] / n_samples for rival in ("engine", "onnxruntime")}
        ratio = per_sample["onnxruntime"] / per_sample["engine"]
        figures[name] = {"bytes": file.bytes, "seconds": taken, "difference": difference, "times_slower": ratio}
        rows.append(
            [
                name,
                f"{file.bytes / 1e6:.1f} MB",
                *(f"{1e3 * per_sample[rival]:.3f}" for rival in per_sample),
                f"{ratio:.1f} times",
                *(f"{1e3 * taken[f'{rival}, one sample']:.2f}" for rival in per_sample),
                f"{taken['one thread'] / taken['two threads']:.2f} times",
                f"{difference:.0e}",
            ]
        )
    report(
        "serving",
        f"{n_landmarks} landmarks, {sum(WIDTHS.values()):,} columns, {n_samples:,} samples, {threads} threads, "
        f"onnxruntime {onnxruntime.__version__}",
        [
            "",
            "file",
            "engine, ms / sample",
            "onnxruntime",
            "slower",
            "engine, ms for one sample",
            "onnxruntime",
            "engine, two threads against one",
            "largest difference, of the largest value",
        ],
        rows,
        {"n_samples": n_samples, "n_landmarks": n_landmarks, "onnxruntime": onnxruntime.__version__, "models": figures},
    )


if __name__ == "__main__":
    parser = parser_of(__doc__, samples=2000, landmarks=500, repeats=5, seed=0)
    parser.add_argument("--threads", type=int, default=THREADS, help="of both; 1 where others use the machine too")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    gl.set_config(device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        compare(chosen.samples, chosen.landmarks, chosen.threads, chosen.repeats, chosen.seed, Path(folder))
