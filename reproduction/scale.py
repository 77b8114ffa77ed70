"""Relative errors and times up to 100,000 samples, on made-up features: the kernel's values, and maps of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import torch
from torch import Tensor

from gramless import DeepKernel, DeepKernelNetwork, DeepMapNetwork, Views
from gramless.engine import choose_device
from gramless.metrics import pairwise_relative_error
from gramless.support.budget import row_blocks
from gramless.support.progress import ProgressBar
from reproduction import paper
from reproduction.cells import Cell, Computed, Figures
from reproduction.laboratory import KERNELS
from reproduction.report import Curve, Entry, Figure, Row, Table
from reproduction.timing import device_name, timed

TABLE = "scale"
VERSION = 1
N_HIDDEN = 80
MADE_UP = "MADE-UP FEATURES of ImageCLEF's dimensions, since its data cannot be had"
SIDE = 4_096  # of the blocks of pairs that are compared at a time
MAPS = ("initial", "fine-tuned")


@dataclass(frozen=True)
class Grid:
    """|T|, S, the one S', and how many first samples landmarks are drawn from."""

    n_samples: tuple[int, ...]
    n_landmarks: tuple[int, ...]
    n_tuning: int
    n_candidates: int


def cells(grid: Grid) -> list[Cell]:
    """One per |T|: all maps are compared with the same pass over the kernel's values."""
    return [
        Cell(
            TABLE,
            VERSION,
            {
                "model": "DKN and DMNs",
                "features": "made up",
                "T": size,
                "S": list(grid.n_landmarks),
                "S'": grid.n_tuning,
                "drawn from": grid.n_candidates,
                "device": device_name(),
            },
            partial(measure, size, grid),
            work=float(size) ** 2,
        )
        for size in grid.n_samples
    ]


def measure(n_samples: int, grid: Grid) -> Figures:
    """RE in percent of every map over n_samples, and the seconds of kernel values and of vectors."""
    made = made_up_views(max(n_samples, grid.n_candidates, grid.n_tuning), seed=0)
    device = choose_device()
    X = Views({name: torch.from_numpy(made[name]).to(device) for name in made.names})
    first = X[: grid.n_candidates]
    network = DeepKernelNetwork(KERNELS, (N_HIDDEN,), learning=None, random_state=0)
    kernel = network.fit(first).kernel_
    T = X[:n_samples]
    maps: dict[str, Tensor] = {}
    seconds: dict[str, float] = {}
    for n_landmarks in grid.n_landmarks:
        landmarks = np.random.default_rng(0).permutation(grid.n_candidates)[:n_landmarks]
        compiled = DeepMapNetwork(kernel, landmarks=landmarks, random_state=0).fit(first)
        compiled.transform(T[:100])  # compiles and loads
        maps[f"initial {n_landmarks}"], seconds[str(n_landmarks)] = timed(partial(compiled.transform, T))
        maps[f"fine-tuned {n_landmarks}"] = compiled.fine_tune(X[: grid.n_tuning]).transform(T)
    errors, seconds["DKN"] = relative_errors(kernel, T, maps)
    return {"RE": errors, "seconds": seconds}


def relative_errors(kernel: DeepKernel, T: Views, maps: dict[str, Tensor]) -> tuple[dict[str, float], float]:
    """Percent over all pairs by name of the vectors, and the seconds of the kernel's values.

    Half of the values are computed, since the kernel is symmetric; blocks are compared as they come and not kept.
    T and the vectors lie on the same device.
    """
    totals = dict.fromkeys(maps, 0.0)
    taken = 0.0
    blocks = list(row_blocks(len(T), 1, SIDE))
    with ProgressBar("relative errors", len(T) ** 2) as progress:
        for i, rows in enumerate(blocks):
            for columns in blocks[i:]:
                exact, seconds = timed(partial(kernel.tensor, T[rows], T[columns]))
                taken += seconds
                times = 1 if rows == columns else 2
                for name, phi in maps.items():
                    errors = pairwise_relative_error(phi[rows] @ phi[columns].T, exact)
                    totals[name] += times * errors.sum(dtype=torch.float64).item()
                progress.advance(times * exact.numel())
    return {name: 100.0 * total / len(T) ** 2 for name, total in totals.items()}, taken


def error_table(computed: Computed, grid: Grid) -> Table:
    rows = []
    for n_landmarks in grid.n_landmarks:
        for kind in MAPS:
            tuned = kind == "fine-tuned"
            entries = []
            for size in grid.n_samples:
                runs = computed.runs(TABLE, T=size)[:1]  # the same on every device
                theirs = paper.relative_error("imageclef", n_landmarks, grid.n_tuning if tuned else None, size)
                if theirs is None and tuned:
                    theirs = paper.error_at_scale(size, n_landmarks)
                entries.append(Entry(tuple(run["RE"][f"{kind} {n_landmarks}"] for run in runs), theirs, None, 2))
            of_tuning = f", S' = {grid.n_tuning:,}" if tuned else ""
            rows.append(Row(f"{kind} DMN, S = {n_landmarks:,}{of_tuning}", tuple(entries)))
    return Table(
        f"Relative errors up to {max(grid.n_samples):,} samples, made-up features",
        f"{MADE_UP}. Percent, mean over all pairs of T; an untrained network of 40 kernels and 80 hidden units, maps "
        "fine-tuned by moving their landmarks. The paper's figures are of real pictures, so neither is ahead of the "
        "other.",
        (),
        tuple(f"T = {size:,}" for size in grid.n_samples),
        tuple(rows),
    )


def time_table(computed: Computed, grid: Grid) -> Table:
    rows = []
    devices = computed.devices(TABLE) or [device_name()]
    for device, (name, n_landmarks) in product(devices, _timed_models(grid)):
        entries = []
        for size in grid.n_samples:
            hours = paper.hours_at_scale(size, n_landmarks)
            runs = computed.runs(TABLE, T=size, device=device)
            seconds = tuple(run["seconds"][str(n_landmarks or "DKN")] for run in runs)
            entries.append(Entry(seconds, None if hours is None else 3600.0 * hours, "lower", 2))
        rows.append(Row(f"{name}, {device}", tuple(entries)))
    return Table(
        f"Time up to {max(grid.n_samples):,} samples, made-up features",
        f"{MADE_UP}. Seconds of all kernel values between the samples of T (DKN; half of them, by symmetry) and of "
        "their vectors (DMN), with features in the device's memory; the paper's on an Intel Core i5.",
        (),
        tuple(f"T = {size:,}" for size in grid.n_samples),
        tuple(rows),
        like_for_like=False,
    )


def time_figure(computed: Computed, grid: Grid) -> Figure:
    curves = []
    for name, n_landmarks in _timed_models(grid):
        hours = [(size, paper.hours_at_scale(size, n_landmarks)) for size in grid.n_samples]
        found = {f"{name}, the paper": [(float(size), 3600.0 * each) for size, each in hours if each is not None]}
        for device in computed.devices(TABLE):
            found[f"{name}, {device}"] = [
                (float(size), run["seconds"][str(n_landmarks or "DKN")])
                for size in grid.n_samples
                for run in computed.runs(TABLE, T=size, device=device)
            ]
        for label, points in found.items():
            if points:
                sizes, seconds = zip(*points, strict=True)
                curves.append(Curve(label, sizes, seconds, paper=label.endswith("the paper")))
    return Figure(
        "Time against |T|, made-up features",
        f"{MADE_UP}. Time of kernel values grows with the square of the samples, that of vectors with their number.",
        "samples in T",
        "seconds",
        tuple(curves),
        logarithmic=True,
    )


def _timed_models(grid: Grid) -> list[tuple[str, int | None]]:
    return [("DKN", None), *((f"DMN, S = {n:,}", n) for n in grid.n_landmarks)]


WIDTHS = (480, 576, 512, 1000, 1000, 1000, 1000, 1000, 1000, 1000)  # Gist, colours, bags of visual words
N_KINDS = 100  # of pictures
CHUNK = 5_000  # rows that one random stream makes
SPARSITY = 0.3  # shape of the gamma numbers; histograms of small ones have few large bins


def made_up_views(n: int, seed: int) -> Views:
    """n rows of ten histograms that sum to one; the first m of n rows are those of m.

    Every picture is of one of a hundred kinds, each with a histogram per view that its pictures are drawn around, so
    that some pictures are alike as in a real collection.
    """
    kinds = [
        np.random.default_rng([seed, view]).gamma(SPARSITY, size=(N_KINDS, width)).astype(np.float32)
        for view, width in enumerate(WIDTHS)
    ]
    blocks = [np.empty((n, width), dtype=np.float32) for width in WIDTHS]
    with ProgressBar("made-up features", n) as progress:
        for start in range(0, n, CHUNK):
            rng = np.random.default_rng([seed, len(WIDTHS), start])
            kind = rng.integers(N_KINDS, size=CHUNK)
            rows = slice(start, min(start + CHUNK, n))
            for block, histograms in zip(blocks, kinds, strict=True):
                noise = rng.standard_gamma(SPARSITY, size=(CHUNK, block.shape[1]), dtype=np.float32)
                mixed = (noise + histograms[kind])[: rows.stop - rows.start]
                block[rows] = mixed / mixed.sum(1, keepdims=True)
            progress.advance(rows.stop - rows.start)
    return Views({f"view {number}": block for number, block in enumerate(blocks, 1)})
