"""Claim: on one H200 a million deep vectors a second, a 10,000 x 10,000 deep kernel in 0.15 s, a learned DKN in 3 s.

The paper's ImageCLEF size: 10 views, 40 kernels, 80 hidden units, 500 landmarks, on made-up histograms that lie on the
device. Medians of device events, after a warm-up. Then the same from host memory, streamed, beside what the link
carries; block by block from files in the page cache; a fit over blocks of 500,000 samples (big_data.py); tf32 and bf16
with the errors that they make; where the time goes, beside the floor from the arithmetic. Learning is on COREL5k where
its features are given (see corel5k_features.py): 4,500 pictures, 4 views, 16 kernels, 260 labels, 80 steps.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from big_data import KERNELS, classifier, make, opened
from corel5k import N_TRAIN, load
from harness import parser_of, report
from transform import WIDTHS

import gramless as gl
from gramless.engine import cuda
from gramless.engine.program import Term
from gramless.learning import Supervised

N_LANDMARKS = 500
FITTED = 500_000
PEAK = {"fused multiply-adds": 33e12, "instructions": 33e12, "bytes": 4.8e12}  # float32, per second, of one H200


def device_seconds(work: Callable[[], Any], repeats: int) -> float:
    """Median by device events, after one run to warm up."""
    work()
    taken = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        taken.append(start.elapsed_time(end) / 1e3)
    return statistics.median(taken)


def histograms(n: int, seed: int) -> gl.Views:
    """Rows that sum to one, on the device; gamma(0.3) numbers over their sums, as Dirichlet's."""
    generator = torch.Generator("cuda").manual_seed(seed)
    blocks = {}
    for i, width in enumerate(WIDTHS):
        x = torch.rand(n, width, device="cuda", generator=generator).pow_(3.0)
        blocks[f"view{i}"] = x.div_(x.sum(1, keepdim=True))
    return gl.Views(blocks)


def on_host(X: gl.Views) -> gl.Views:
    return gl.Views({name: X[name].cpu().numpy() for name in X.names})


def link_bytes_per_second() -> float:
    """From page-locked memory to the device."""
    staged = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
    there = torch.empty_like(staged, device="cuda")
    return len(staged) / device_seconds(lambda: there.copy_(staged, non_blocking=True), 5)


def wall_seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Median, after one run to warm up: page-locked memory is found once."""
    work()
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def block_seconds(dmn: gl.DeepMapNetwork, host: gl.Views, folder: Path) -> float:
    """Vectors of samples in files, block by block."""
    for name in host.names:
        np.save(folder / f"{name}.npy", host[name])
    files = gl.in_blocks({name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in host.names})
    return wall_seconds(lambda: [len(block) for block in dmn.transform(files).blocks()], 2)


def fit_over_blocks_seconds(folder: Path) -> tuple[float, int]:
    """A pass to look, and some for the classifiers, over 500,000 samples of 4 kB each; vectors anew in every pass."""
    make(folder, FITTED, 0)
    samples = gl.in_blocks(*opened(folder, FITTED))
    taken, model = [], None
    for _ in range(2):
        started = time.perf_counter()
        model = classifier(N_LANDMARKS, 0).fit(samples)
        taken.append(time.perf_counter() - started)
    return taken[-1], int(model.n_iter_)


def stages(dmn: gl.DeepMapNetwork, X: gl.Views) -> dict[str, tuple[float, float]]:
    """Seconds of the parts of a transform alone, and the floor of each."""
    n, d = len(X), sum(WIDTHS)
    pairs = n * N_LANDMARKS
    sides = [(X[name], dmn.landmarks_[name].cuda()) for name in X.names]
    out = torch.empty(n, N_LANDMARKS, device="cuda")
    phi = torch.empty(n, N_LANDMARKS, device="cuda")
    products = device_seconds(lambda: [torch.mm(x, z.T, out=out) for x, z in sides], 5)
    minima = device_seconds(lambda: [cuda.feature_sums(Term.MINIMUM, x, z, out) for x, z in sides], 5)
    projection = device_seconds(lambda: torch.mm(out, phi[:N_LANDMARKS], out=phi), 5)
    return {
        "inner products": (products, pairs * d / PEAK["fused multiply-adds"]),
        "sums of minima": (minima, 2 * pairs * d / PEAK["instructions"]),
        "projection": (projection, pairs * N_LANDMARKS / PEAK["fused multiply-adds"]),
        "combination": (float("nan"), pairs * 80 * 41 / PEAK["fused multiply-adds"]),
        "statistics to memory and back": (float("nan"), 2 * 4 * pairs * 2 * len(WIDTHS) / PEAK["bytes"]),
    }


def learning_seconds(features: Path) -> tuple[float, float]:
    """80 steps on COREL5k, everything in the fit included; the second of two runs, so that kernels are compiled."""
    corel = load(features, ("Rgb", "Hsv", "Lab", "Gist"))
    X = gl.Views({name: torch.from_numpy(corel.views[name][:N_TRAIN]).cuda() for name in corel.views.names})
    model = gl.DeepKernelNetwork(KERNELS, (80,), learning=Supervised(patience=1_000), random_state=0)
    taken = []
    for _ in range(3):
        torch.cuda.synchronize()
        started = time.perf_counter()
        model.fit(X, corel.labels[:N_TRAIN])
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - started)
    assert model.learning_curve_[-1].step == 80
    return statistics.median(taken[1:]), taken[0]


def main() -> None:
    parser = parser_of(__doc__, samples=200_000)
    parser.add_argument("--features", type=Path, help="COREL5k's features, for learning")
    chosen = parser.parse_args()
    X = histograms(chosen.samples, 0)
    kernel = gl.DeepKernelNetwork(KERNELS, (80,), learning=None, random_state=0).fit(X[:5000]).kernel_
    dmn = gl.DeepMapNetwork(kernel, N_LANDMARKS, random_state=0).fit(X[:5000])
    print(dmn.explain(chosen.samples))
    rows, figures = [], {}

    def note(what: str, seconds: float, rate: str, extra: str = "") -> None:
        rows.append([what, f"{seconds:.4f}", rate, extra])
        figures[what] = {"seconds": seconds, "rate": rate, "note": extra}
        print(*rows[-1], sep=" | ", flush=True)

    def per_second(seconds: float) -> str:
        return f"{chosen.samples / seconds:,.0f} samples/s"

    exact = dmn.transform(X[:5000])
    seconds = device_seconds(lambda: dmn.transform(X), 5)
    note("transform, on the device", seconds, per_second(seconds))
    for precision in ("tf32", "bf16"):
        with gl.config_context(precision=precision):
            fast = gl.DeepMapNetwork(kernel, landmarks=dmn.landmarks_, random_state=0).fit(X[:5000])
            taken = device_seconds(lambda fast=fast: fast.transform(X), 5)
            phi = fast.transform(X[:2000])
        a, b = phi @ phi.T, exact[:2000] @ exact[:2000].T
        off = ((a - b).abs() / b.abs()).max().item()
        note(f"transform, {precision}", taken, per_second(taken), f"inner products off by {off:.1e} at most")
    host, link = on_host(X), link_bytes_per_second()
    taken = wall_seconds(lambda: dmn.transform(host))
    share = 4 * sum(WIDTHS) * chosen.samples / taken / link
    note(
        "transform, streamed from host memory and back",
        taken,
        per_second(taken),
        f"{share:.0%} of {link / 1e9:.0f} GB/s",
    )
    with tempfile.TemporaryDirectory() as folder:
        taken = block_seconds(dmn, host, Path(folder))
        note("transform, block by block from files", taken, per_second(taken), "wall clock, page cache")
    with tempfile.TemporaryDirectory() as folder:
        taken, n_passes = fit_over_blocks_seconds(Path(folder))
        note(f"fit over blocks, {FITTED:,} samples", taken, f"{FITTED / taken:,.0f} samples/s", f"{n_passes} passes")
    for what, (taken, floor) in stages(dmn, X).items():
        rows.append([f"  {what}", f"{taken:.4f}", "", f"floor {floor:.4f}"])
        figures[what] = {"seconds": None if np.isnan(taken) else taken, "floor": floor}
    ten = X[:10_000]
    taken = device_seconds(lambda: kernel(ten), 5)
    note("exact DKN, 10,000 x 10,000", taken, f"{1e8 / taken:.2e} pairs/s")
    if chosen.features:
        taken, first = learning_seconds(chosen.features)
        note("learning, COREL5k, 80 steps", taken, f"{80 / taken:.0f} steps/s", f"first run, compiling: {first:.1f} s")
    report(
        "gpu",
        torch.cuda.get_device_name(),
        ["", "seconds", "rate", ""],
        rows,
        {"figures": figures, "samples": chosen.samples},
    )


if __name__ == "__main__":
    main()
