"""Claim: fine-tuned maps are a third closer to the kernel than Nystrom's on samples never seen.

One frozen DKN on COREL5k (benchmarks/learning.py saves it; its output gain is raised from 6 to 7, at which the best
constant is 11 % off, so that the kernel is not too flat to be a test; its weights are hashed into the JSON). Landmarks
S are training pictures, tuning sets S' any pictures without labels. Relative error in percent over T, as the paper has
it, and over the pictures outside S and S', which is the honest one: landmark rows are exact by construction. The oracle
is the best fit of the same number of components to the off-diagonal values of those very pictures. Three draws of S and
S' at S' = 3,000, where the claim is made, one elsewhere; Algorithm 1 on the first draw.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from corel5k import N_TRAIN, add_options, load
from harness import RESULTS, report
from torch import Tensor

import gramless as gl
from gramless.metrics.approximation import pairwise_relative_error
from gramless.reproduce import paper
from gramless.reproduce.relative_errors import constant_percent, percent
from gramless.tuning import TUNERS

SIZES = (2000, 3000, 4000, 4999)
REPEATED = 3000  # the size of S' at which several draws are made


class Errors(NamedTuple):
    """Relative errors of one map, percent: over T of growing size, and over the pictures outside S and S'."""

    over_t: tuple[float, ...]
    outside: float


def oracle(gram: Tensor, n_components: int, n_rounds: int = 10) -> Tensor:
    """The best fit of so many components to off-diagonal values: eigenvectors, the diagonal refilled by the fit."""
    filled = gram.double().clone()
    for _ in range(n_rounds):
        eigenvalues, vectors = torch.linalg.eigh(filled)
        phi = vectors[:, -n_components:] * eigenvalues[-n_components:].clamp_min(0.0).sqrt()
        filled.diagonal().copy_(phi.square().sum(1))
    return phi.to(gram.dtype)


def with_output_gain(kernel: gl.DeepKernel, gain: float) -> gl.DeepKernel:
    """The same network with the weights of its output unit scaled to another sum."""
    *hidden, output = kernel.layers
    return replace(kernel, layers=(*hidden, replace(output, weights=output.weights * (gain / output.weights.sum()))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--kernel", type=Path, default=RESULTS / "dkn.gramless")
    parser.add_argument("--landmarks", type=int, nargs="+", default=[500, 700, 2000])
    parser.add_argument("--tuning-sets", type=int, nargs="+", default=[2000, 3000, 4000, 4999])
    parser.add_argument("--methods", nargs="+", default=["filter", "default", "exact", "algorithm1"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output-gain", type=float, default=7.0)
    parser.add_argument("--products", choices=["float32", "tf32"], default="float32", help="of Algorithm 1 on a GPU")
    parser.add_argument("--name", default="fine_tuning", help="of the JSON file")
    chosen = parser.parse_args()
    corel = load(chosen.features)
    kernel = with_output_gain(gl.load(chosen.kernel), chosen.output_gain)
    gram = torch.from_numpy(kernel(corel.views)).to(kernel.compute_device(corel.views))
    cells: dict[tuple[int, int, str], list[Errors]] = {}

    def note(n_landmarks: int, n_tuning: int, method: str, errors: Errors) -> None:
        cells.setdefault((n_landmarks, n_tuning, method), []).append(errors)
        print(n_landmarks, n_tuning, method, *(f"{e:.3f}" for e in (*errors.over_t, errors.outside)), flush=True)

    for seed, n_landmarks, n_tuning in itertools.product(range(chosen.seeds), chosen.landmarks, chosen.tuning_sets):
        if seed and n_tuning != REPEATED:
            continue
        rng = np.random.default_rng(seed)
        order, pool = rng.permutation(len(gram)), rng.permutation(N_TRAIN)
        landmarks, tuning_rows = np.sort(pool[:n_landmarks]), order[::-1][:n_tuning]
        outside = np.setdiff1d(np.setdiff1d(order, tuning_rows), landmarks)

        def judge(deep_map: Any, order: np.ndarray = order, outside: np.ndarray = outside) -> Errors:
            phi = deep_map.transform(corel.views).to(gram)
            over_t = tuple(percent(phi, gram, order[:size]) for size in SIZES)
            return Errors(over_t, percent(phi, gram, outside) if len(outside) > 1 else float("nan"))

        dmn = gl.DeepMapNetwork(kernel, landmarks=landmarks, random_state=seed).fit(corel.views[corel.train])
        note(n_landmarks, n_tuning, "Nystrom", judge(dmn.map_))
        if len(outside) > n_landmarks:
            among = gram[outside][:, outside]
            fit = oracle(among, n_landmarks)
            error = 100.0 * pairwise_relative_error(fit @ fit.T, among).double().mean().item()
            note(n_landmarks, n_tuning, "oracle", Errors((), error))
        for method in chosen.methods:
            if method == "algorithm1" and seed:
                continue
            started = time.perf_counter()
            torch.backends.cuda.matmul.allow_tf32 = method == "algorithm1" and chosen.products == "tf32"
            result = TUNERS[method](dmn.map_, corel.views[tuning_rows], torch.Generator().manual_seed(seed))
            torch.backends.cuda.matmul.allow_tf32 = False
            note(n_landmarks, n_tuning, method, judge(result.map))
            last_step, last_error = result.curve[-1]
            print(
                f"  {time.perf_counter() - started:.1f} s; held out {result.error_before:.3f} -> "
                f"{result.error_after:.3f}, {last_error:.3f} after {last_step} steps",
                flush=True,
            )
    show(chosen.name, cells, kernel, constant_percent(gram, np.arange(len(gram))))


def show(name: str, cells: dict[tuple[int, int, str], list[Errors]], kernel: gl.DeepKernel, constant: float) -> None:
    rows, figures = [], []
    for (n_landmarks, n_tuning, method), runs in cells.items():
        over_t = np.array([run.over_t for run in runs])
        outside = np.array([run.outside for run in runs])
        n_seen = None if method == "Nystrom" else n_tuning
        published = [paper.relative_error("corel5k", n_landmarks, n_seen, size) for size in SIZES]
        figures.append(
            {
                "S": n_landmarks,
                "S'": n_tuning,
                "method": method,
                "T": over_t.tolist(),
                "outside": [None if np.isnan(e) else e for e in outside],
            }
        )
        unseen = f"{outside.mean():.3f} ± {np.ptp(outside) / 2:.3f}" if not np.isnan(outside).any() else ""
        rows.append(
            [
                f"{n_landmarks}",
                f"{n_tuning}",
                method,
                *([f"{e:.2f}" for e in over_t.mean(0)] if over_t.size else [""] * len(SIZES)),
                unseen,
                " ".join(f"{e}" for e in published if e and method in ("Nystrom", "algorithm1")),
            ]
        )
    weights = b"".join(layer.weights.numpy().tobytes() for layer in kernel.layers)
    report(
        name,
        f"Relative error, percent; the best constant has {constant:.1f} %",
        ["S", "S'", "map", *(f"T {size}" for size in SIZES), "outside S, S'", "the paper"],
        rows,
        {"errors": figures, "kernel_sha256": hashlib.sha256(weights).hexdigest(), "best_constant": constant},
    )


if __name__ == "__main__":
    main()
