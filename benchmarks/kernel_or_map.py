"""Claim: vectors cost a constant per sample, kernel values a constant per pair: beside the paper's table of times.

The paper's ImageCLEF size: 10 views, 40 kernels, 80 hidden units, 500 landmarks; made-up histograms. Timed: all kernel
values between T samples, each pair once, by the engine and in its blocks, none of them kept; and the vectors of the
same T samples by the same engine, landmarks and projection being ready. Kernel values are T^2 / 2 pairs and vectors
500 T, so that a ratio of T / 1000 is to be expected; the paper's is larger at small T, where its vectors were quick
beside kernels that were not computed by an engine.

Above 10,000 samples everything is timed once. What is not measured is extrapolated, kernel values by T^2, and marked ~.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from harness import THREADS, parser_of, report, time_rivals
from transform import CPU, histograms, paper_kernel

import gramless as gl
from gramless.engine.matrix import ColumnTiles
from gramless.engine.streaming import stream_rows

REPEATED = 10_000
PAPER_RATIOS = {10_000: 15.0, 50_000: 40.4 / 1.1, 100_000: 160.3 / 2.4}  # > 15,000 s to < 1,000 s; hours to hours


def stream_kernel_values(kernel: gl.DeepKernel, X: gl.Views) -> None:
    """All values of the upper triangle, block by block, as for the kernel matrix; forgotten at once."""
    plan = kernel.plan(len(X), len(X), torch.float32, CPU, symmetric=True)
    tiles = ColumnTiles(plan, X, lambda Z: kernel.evaluator(Z, torch.float32, CPU))
    for rows, block in stream_rows(X, plan.row_blocks(), torch.float32, CPU):
        for tile, columns in enumerate(tiles.slices):
            if columns.start >= rows.start:
                tiles[tile].values(block)


def seconds_of(rivals: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Medians of some turns, or one run each."""
    if repeats > 1:
        return time_rivals(rivals, repeats)
    taken = {}
    for name, rival in rivals.items():
        started = time.perf_counter()
        rival()
        taken[name] = time.perf_counter() - started
    return taken


def compare(both_sizes: Sequence[int], map_sizes: Sequence[int], n_landmarks: int, repeats: int, seed: int) -> None:
    X = histograms(max([*both_sizes, *map_sizes]), seed)
    kernel = paper_kernel(X, seed)
    network = gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(X[:2000])
    kernel_seconds: dict[int, float] = {}
    map_seconds: dict[int, float] = {}
    for n in both_sizes:
        some = X[:n]
        seconds = seconds_of(
            {
                "map": lambda some=some: network.transform(some),
                "kernel": lambda some=some: stream_kernel_values(kernel, some),
            },
            repeats if n <= REPEATED else 1,
        )
        print(f"{n:,} samples: {seconds}", flush=True)
        kernel_seconds[n], map_seconds[n] = seconds["kernel"], seconds["map"]
    for n in map_sizes:
        some = X[:n]
        map_seconds[n] = seconds_of({"map": lambda some=some: network.transform(some)}, repeats)["map"]
    last_kernel, last_map = max(kernel_seconds), max(map_seconds)
    results, rows = [], []
    for n in sorted({*map_seconds, *PAPER_RATIOS}):
        by_kernel = kernel_seconds.get(n, kernel_seconds[last_kernel] * (n / last_kernel) ** 2)
        by_map = map_seconds.get(n, map_seconds[last_map] * n / last_map)
        results.append(
            {
                "n_samples": n,
                "kernel_seconds": by_kernel,
                "kernel_extrapolated": n not in kernel_seconds,
                "map_seconds": by_map,
                "map_extrapolated": n not in map_seconds,
                "ratio": by_kernel / by_map,
                "paper_ratio": PAPER_RATIOS.get(n),
            }
        )
        rows.append(
            [
                f"{n:,}",
                f"{'' if n in kernel_seconds else '~ '}{by_kernel:,.2f}",
                f"{'' if n in map_seconds else '~ '}{by_map:.2f}",
                f"{by_kernel / by_map:.1f}",
                f"{PAPER_RATIOS[n]:.0f}" if n in PAPER_RATIOS else "",
            ]
        )
    report(
        "kernel_or_map",
        f"kernel values among T samples, or vectors by {n_landmarks} landmarks; {THREADS} threads; ~ extrapolated",
        ["T", "kernel values (s)", "vectors (s)", "ratio", "the paper's ratio"],
        rows,
        {"n_landmarks": n_landmarks, "repeats": repeats, "results": results},
    )


if __name__ == "__main__":
    parser = parser_of(__doc__, landmarks=500, repeats=3, seed=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 4000, 6000, 8000, 10_000, 50_000, 100_000])
    parser.add_argument("--map-sizes", type=int, nargs="+", default=[], help="of vectors alone")
    parser.add_argument("--quick", action="store_true", help="both up to 4,000 samples, vectors up to 10,000")
    chosen = parser.parse_args()
    torch.set_num_threads(THREADS)
    gl.set_config(device="cpu")
    sizes = ([2000, 4000], [10_000]) if chosen.quick else (chosen.sizes, chosen.map_sizes)
    compare(*sizes, chosen.landmarks, chosen.repeats, chosen.seed)
