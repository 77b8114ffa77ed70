"""Claim: vectors 100 times faster than by scikit-learn's Nystroem of the same kernel; and what a map costs in accuracy.

Two comparisons on two threads at the paper's size of 10 views, 40 kernels, 80 hidden units, 500 landmarks:
  vectors  fit and transform of our map; of Nystroem with the same deep kernel as a callable, which scikit-learn calls
           pair by pair, so that it is timed on few samples and scaled by the number of pairs (nearly all of that time
           goes into the calls, not into their arithmetic); and of Nystroem with its
           own RBF kernel, a single one, on the same columns side by side
  classes  SVC(kernel="precomputed") on the kernel matrix of the training samples against LinearSVC on the vectors:
           kernel or map, training and prediction, on made-up histograms of ten classes. DeepMapClassifier besides
           settles the kernels' widths and fine-tunes its map. The classes are faint and spread over all features, so
           that the kernel's spectrum falls slowly: a hard case for any map by few landmarks.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from collapse import WIDTHS
from harness import THREADS, report, time_rivals
from rich.console import Console
from rich.table import Table
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import SVC, LinearSVC
from transform import histograms, paper_kernel

import gramless as gl

N_CLASSES = 10
FEW_SAMPLES, FEW_LANDMARKS = 10, 5


def seconds_per_pair(kernel: gl.DeepKernel, samples: np.ndarray, seed: int) -> float:
    """Of Nystroem with the kernel as a callable: its whole time over the number of its calls."""
    n_calls = 0

    def counted(x: np.ndarray, z: np.ndarray) -> float:
        nonlocal n_calls
        n_calls += 1
        return kernel(x, z)

    kernel(samples[0], samples[1])
    started = time.perf_counter()
    Nystroem(kernel=counted, n_components=FEW_LANDMARKS, random_state=seed).fit_transform(samples)
    return (time.perf_counter() - started) / n_calls


def compare_vectors(n_samples: int, n_landmarks: int, repeats: int, seed: int) -> dict[str, float]:
    """Seconds of fit and transform."""
    X = histograms(n_samples, seed)
    side_by_side = np.asarray(X)
    kernel = paper_kernel(X, seed)
    gamma = 1 / (2 * side_by_side[:500].var(0).sum())  # exponents around -1
    seconds = time_rivals(
        {
            "ours, deep kernel": lambda: gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(X).transform(X),
            "Nystroem, one RBF kernel": lambda: Nystroem(
                gamma=gamma, n_components=n_landmarks, random_state=seed
            ).fit_transform(side_by_side),
        },
        repeats,
    )
    n_pairs = n_samples * n_landmarks + n_landmarks * (n_landmarks + 1) / 2
    by_pair = seconds_per_pair(kernel, side_by_side[:FEW_SAMPLES], seed)
    return {**seconds, "Nystroem, deep kernel (scaled)": n_pairs * by_pair}


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


FAINTNESS = 60.0  # one over the variance of a class's centre around what classes have in common


def compare_classes(
    n_train: int, n_test: int, n_landmarks: int, repeats: int, seed: int
) -> dict[str, dict[str, float]]:
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
    return {
        name: {"seconds": seconds[name], "accuracy_percent": 100 * float(np.mean(labels == y_test))}
        for name, labels in predicted.items()
    }


def compare(n_samples: int, n_train: int, n_test: int, n_landmarks: int, repeats: int, seed: int) -> None:
    vectors = compare_vectors(n_samples, n_landmarks, repeats, seed)
    classes = compare_classes(n_train, n_test, n_landmarks, repeats, seed)
    ours = vectors["ours, deep kernel"]
    table = Table(
        "", "fit + transform (s)", "of ours", title=f"{n_samples:,} samples, {n_landmarks} landmarks, {THREADS} threads"
    )
    for name, taken in vectors.items():
        table.add_row(name, f"{taken:,.2f}", f"{taken / ours:,.2f}")
    Console().print(table)
    report(
        "peers",
        f"{n_train:,} training and {n_test:,} test samples of {N_CLASSES} classes, {n_landmarks} landmarks",
        ["", "seconds", "accuracy (%)"],
        [[name, f"{r['seconds']:.2f}", f"{r['accuracy_percent']:.1f}"] for name, r in classes.items()],
        {
            "n_samples": n_samples,
            "n_landmarks": n_landmarks,
            "seconds_of_vectors": vectors,
            "n_train": n_train,
            "n_test": n_test,
            "classes": classes,
        },
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5000, help="in the comparison of vectors")
    parser.add_argument("--train", type=int, default=4000)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="2,000 samples, 2,000 of them for training")
    chosen = parser.parse_args()
    torch.set_num_threads(THREADS)
    gl.set_config(device="cpu")
    sizes = (2000, 2000, 500) if chosen.quick else (chosen.samples, chosen.train, chosen.test)
    compare(*sizes, chosen.landmarks, chosen.repeats, chosen.seed)
