"""Claim: 2,000,000 samples on disk are transformed and classified within 1 GiB, in a time linear in their number.

Four views, 1,000 columns in all, 16 kernels, 500 landmarks. Every size in a process of its own, on the first samples of
the same files: a sample is drawn, the map compiled, the vectors of all samples are written to a file, classifiers are
fitted on them by passes over that file, and the scores of all samples are written from their features. Memory is all
that the process ever had resident (Linux's VmHWM), the interpreter and its libraries included. Files are read through
the page cache, which is not counted. Linear means that the time per sample is near its median over sizes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
from big_data import ROWS, classifier, make, opened
from growth import resident
from harness import THREADS, at_most, parser_of, report, run_this_script

import gramless as gl
from gramless.support.budget import readable

SIZES, QUICK_SIZES = (100_000, 200_000, 500_000, 1_000_000, 2_000_000), (10_000, 20_000)


def scores_file(folder: Path, n_samples: int) -> Path:
    """Kept, for a cluster's to be compared with."""
    return folder / f"scores{n_samples}.npy"


def measure(folder: Path, n_samples: int, n_landmarks: int, seed: int) -> dict[str, float]:
    views, labels = opened(folder, n_samples)
    model = classifier(n_landmarks, seed, folder / f"scratch{n_samples}")
    samples = gl.in_blocks(views, labels, rows=ROWS)
    started = time.perf_counter()
    model.fit(samples)
    fitted = time.perf_counter()
    scores = np.load(model.decision_function(samples).write(scores_file(folder, n_samples)), mmap_mode="r")
    scored = time.perf_counter()
    vectors = folder / f"vectors{n_samples}.npy"
    model.map_network_.transform(samples).write(vectors)
    transformed = time.perf_counter()
    vectors.unlink()
    return {
        "n_samples": n_samples,
        "input_bytes": sum(view.nbytes for view in views.values()),
        "fit_seconds": fitted - started,
        "score_seconds": scored - fitted,
        "transform_seconds": transformed - scored,
        "n_passes": model.n_iter_,
        "accuracy": float((model.classes_[scores.argmax(1)] == labels).mean()),
        "resident_bytes": resident("VmHWM"),
    }


def compare(folder: Path, sizes: list[int], n_landmarks: int, seed: int) -> None:
    make(folder, max(sizes), seed)
    options = f"--folder={folder.resolve()}", f"--landmarks={n_landmarks}", f"--seed={seed}"
    results = [run_this_script(f"--measure={n}", *options) for n in sizes]

    def off_median(step: str) -> float:
        each = [r[f"{step}_seconds"] / r["n_samples"] for r in results]
        return max(abs(seconds / statistics.median(each) - 1) for seconds in each)

    report(
        "out_of_core",
        f"samples on disk, {n_landmarks} landmarks, {THREADS} threads",
        ["samples", "disk", "transform, s", "us each", "fit, s", "passes", "scores, s", "accuracy", "memory"],
        [
            [
                f"{r['n_samples']:,}",
                readable(r["input_bytes"]),
                f"{r['transform_seconds']:.1f}",
                f"{1e6 * r['transform_seconds'] / r['n_samples']:.1f}",
                f"{r['fit_seconds']:.1f}",
                f"{r['n_passes']}",
                f"{r['score_seconds']:.1f}",
                f"{r['accuracy']:.4f}",
                readable(r["resident_bytes"]),
            ]
            for r in results
        ],
        {"n_landmarks": n_landmarks, "results": results},
        [
            at_most("most resident memory, GiB", max(r["resident_bytes"] for r in results) / 2**30, 1.0),
            at_most("transform: time per sample, off its median", off_median("transform"), 0.1),
            at_most("scores: time per sample, off its median", off_median("score"), 0.1),
        ],
    )


if __name__ == "__main__":
    parser = parser_of(__doc__, landmarks=500, seed=0)
    parser.add_argument("--folder", type=Path, default=Path("out/big_data"), help="for samples and vectors, 13 GB")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    gl.set_config(device="cpu")
    if given.measure:
        print(json.dumps(measure(given.folder, given.measure, given.landmarks, given.seed)))
    else:
        compare(given.folder, list(QUICK_SIZES) if given.quick else given.sizes, given.landmarks, given.seed)
