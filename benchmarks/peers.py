"""Counted: what a map by few landmarks costs in accuracy on classes that are hard for it.

SVC(kernel="precomputed") on the kernel matrix of the training samples against LinearSVC on the vectors: kernel or map,
training and prediction on two threads, at the paper's size of 10 views, 40 kernels, 80 hidden units, 500 landmarks, on
made-up histograms of ten classes. DeepMapClassifier besides settles the kernels' widths and fine-tunes its map. The
classes are faint and spread over all features, so that the kernel's spectrum falls slowly: a hard case for any map.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from harness import THREADS, parser_of, report, time_rivals
from sklearn.svm import SVC, LinearSVC
from transform import WIDTHS, paper_kernel

import gramless as gl

N_CLASSES = 10
FAINTNESS = 60.0  # one over the variance of a class's centre around what classes have in common


def labelled_histograms(n_rows: int, seed: int) -> tuple[gl.Views, np.ndarray]:
    """Ten classes whose centres are faint in every view: kernels have to add up to tell them apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(N_CLASSES, size=n_rows)
    blocks = []
    for width in WIDTHS:
        centres = 0.3 * rng.gamma(FAINTNESS, 1 / FAINTNESS, size=(N_CLASSES, width))
        rows = rng.standard_gamma(centres[y]).astype(np.float32)
        blocks.append(rows / rows.sum(1, keepdims=True))
    return gl.Views(blocks), y


def compare(n_train: int, n_test: int, n_landmarks: int, repeats: int, seed: int) -> None:
    X, y = labelled_histograms(n_train + n_test, seed)
    train, test, y_train, y_test = X[:n_train], X[n_train:], y[:n_train], y[n_train:]
    kernel = paper_kernel(train, seed)
    predicted: dict[str, np.ndarray] = {}

    def on_kernel() -> None:
        machine = SVC(kernel="precomputed").fit(kernel(train), y_train)
        predicted["SVC on the kernel"] = machine.predict(kernel(test, train))

    def on_map() -> None:
        network = gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(train)
        machine = LinearSVC(random_state=seed).fit(network.transform(train), y_train)
        predicted["LinearSVC on the vectors"] = machine.predict(network.transform(test))

    def whole() -> None:
        network = gl.DeepKernelNetwork(hidden=(80,), learning=None)
        machine = gl.DeepMapClassifier(network, n_landmarks, random_state=seed)
        predicted["DeepMapClassifier"] = machine.fit(train, y_train).predict(test)

    rivals: dict[str, Callable[[], Any]] = {
        "SVC on the kernel": on_kernel,
        "LinearSVC on the vectors": on_map,
        "DeepMapClassifier": whole,
    }
    seconds = time_rivals(rivals, repeats)
    classes = {
        name: {"seconds": seconds[name], "accuracy_percent": 100 * float(np.mean(labels == y_test))}
        for name, labels in predicted.items()
    }
    report(
        "peers",
        f"{n_train:,} training and {n_test:,} test samples of {N_CLASSES} classes, {n_landmarks} landmarks",
        ["", "seconds", "accuracy (%)"],
        [[name, f"{r['seconds']:.2f}", f"{r['accuracy_percent']:.1f}"] for name, r in classes.items()],
        {"n_landmarks": n_landmarks, "n_train": n_train, "n_test": n_test, "classes": classes},
    )


if __name__ == "__main__":
    parser = parser_of(__doc__, train=4000, test=1000, landmarks=500, repeats=3, seed=0)
    parser.add_argument("--quick", action="store_true", help="2,000 samples for training, 500 for the test")
    chosen = parser.parse_args()
    torch.set_num_threads(THREADS)
    gl.set_config(device="cpu")
    sizes = (2000, 500) if chosen.quick else (chosen.train, chosen.test)
    compare(*sizes, chosen.landmarks, chosen.repeats, chosen.seed)
