"""Claim: time per sample stays within 20 % from 2,000 to 100,000 samples, and memory within the budget of 256 MiB.

Vectors at the paper's ImageCLEF size: 10 views, 40 kernels, 80 hidden units, 500 landmarks; made-up histograms. Every
size in a process of its own. Time per sample is that of all samples over that of the first 2,000, the two in turns.
Memory is the highest resident memory during one transform (Linux's own mark, VmHWM, reset before), less what was
resident before, which includes the samples, and less the vectors themselves; free memory is given back before.
"""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

import torch
from harness import THREADS, at_most, parser_of, report, run_this_script, time_rivals
from transform import histograms, paper_kernel

import gramless as gl
from gramless.support.budget import readable, resolve_budget

FEW = 2_000
SIZES, QUICK_SIZES = (FEW, 10_000, 50_000, 100_000), (FEW, 20_000)


def measure(n_samples: int, n_landmarks: int, budget: str, repeats: int, seed: int) -> dict[str, float]:
    X = histograms(n_samples, seed)
    kernel = paper_kernel(X, seed)
    network = gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(X[:FEW])
    few = X[:FEW]
    network.transform(few[:100])  # what is loaded once and stays: compiled code, threads and their memory
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # fitting leaves free memory resident, which transform would hide in
    Path("/proc/self/clear_refs").write_text("5")  # the mark falls to what is resident now
    before = resident("VmRSS")
    vectors = network.transform(X)
    work = resident("VmHWM") - before - vectors.nbytes
    del vectors
    seconds = time_rivals({"few": lambda: network.transform(few), "all": lambda: network.transform(X)}, repeats)
    return {
        "n_samples": n_samples,
        "seconds": seconds["all"],
        "seconds_per_sample": seconds["all"] / n_samples,
        "of_few": seconds["all"] / n_samples / (seconds["few"] / FEW),
        "work_bytes": work,
        "planned_bytes": network.explain(n_samples).block_bytes,
        "input_bytes": sum(X[name].nbytes for name in X.names),
    }


def resident(field: str, process: int | str = "self") -> int:
    """Bytes of a process that are in memory (VmRSS), or that were at most (VmHWM)."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def compare(sizes: list[int], n_landmarks: int, budget: str, repeats: int, seed: int) -> None:
    options = f"--landmarks={n_landmarks}", f"--budget={budget}", f"--repeats={repeats}", f"--seed={seed}"
    results = [run_this_script(f"--measure={n}", *options) for n in sizes]
    off = max(abs(r["of_few"] - 1) for r in results)
    work = max(r["work_bytes"] for r in results)
    report(
        "growth",
        f"vectors by {n_landmarks} landmarks, memory_budget={budget!r}, {THREADS} threads",
        ["samples", "their memory", "seconds", "ms / sample", f"of that for {FEW:,}", "memory used", "planned"],
        [
            [
                f"{r['n_samples']:,}",
                readable(r["input_bytes"]),
                f"{r['seconds']:.2f}",
                f"{1e3 * r['seconds_per_sample']:.3f}",
                f"{r['of_few']:.0%}",
                readable(r["work_bytes"]),
                readable(r["planned_bytes"]),
            ]
            for r in results
        ],
        {"n_landmarks": n_landmarks, "memory_budget": budget, "repeats": repeats, "results": results},
        [
            at_most(f"time per sample, {max(sizes):,} samples or fewer: change from {FEW:,} in %", 100 * off, 20),
            at_most(
                "memory of transform: MiB beside samples and vectors", work / 2**20, resolve_budget(budget) / 2**20
            ),
        ],
    )


if __name__ == "__main__":
    parser = parser_of(__doc__, landmarks=500, repeats=3, seed=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--budget", default="256MiB")
    parser.add_argument("--quick", action="store_true", help="20,000 samples at most")
    parser.add_argument("--measure", type=int, help="measure this size here, and print the figures as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(THREADS)
    gl.set_config(device="cpu", memory_budget=chosen.budget)
    settings = (chosen.landmarks, chosen.budget, chosen.repeats, chosen.seed)
    if chosen.measure:
        print(json.dumps(measure(chosen.measure, *settings)))
    else:
        compare(QUICK_SIZES if chosen.quick else chosen.sizes, *settings)
