"""Claim: landmarks that move make a map closer to its kernel, and a few steps with labels a better one to classify by.

COREL5k, official split, five views. The kernel is learned by leave-one-out on the 4,500 training pictures, or, for the
relative errors alone, read from a file (--frozen). Landmarks S are random training pictures, S' all training pictures.
Relative error in percent over pairs of test pictures, which are in neither. MAP per picture / per keyword on the test
pictures with the classifier's own heads; C is chosen on a fifth of the training pictures for a kernel and a map made
from the others (first draw), then all is made anew. Several draws: mean and half the range. The paper's protocol, where
S' and the pictures that errors are measured on are all pictures, is `python -m reproduction`'s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from corel5k import PENALTIES, Corel5k, add_options, judge, load, svm_margins
from harness import parser_of, report
from torch import Tensor

import gramless as gl
from gramless.engine import choose_device
from gramless.heads import SquaredHinge, fit_all_labels
from gramless.maps import CollapsedMap
from gramless.maps.tuning import finish_with_labels, move_landmarks, ranking
from gramless.metrics import pairwise_relative_error

NYSTROM, MOVED, FINISHED, ITSELF = (
    "Nystrom",
    "moved without labels",
    "moved and finished with labels",
    "the kernel itself",
)
COLUMNS = ("outside S and S'", "MAP per picture", "MAP per keyword", "seconds")

Figures = dict[str, float]


def learned(corel: Corel5k, rows: np.ndarray, seed: int) -> gl.DeepKernel:
    network = gl.DeepKernelNetwork(learning="leave-one-out", random_state=seed)
    return network.fit(corel.views[rows], corel.labels[rows]).kernel_


def maps(
    kernel: gl.DeepKernel, corel: Corel5k, rows: np.ndarray, n_landmarks: int, seed: int, *, with_labels: bool
) -> Iterator[tuple[str, CollapsedMap, float]]:
    """The maps of training pictures, each with the seconds that it took after the one before."""
    views, signs = corel.views[rows], torch.from_numpy(2 * corel.labels[rows].astype(np.int64) - 1)
    generator = torch.Generator().manual_seed(seed)
    started = time.perf_counter()
    landmarks = np.random.default_rng(seed).permutation(len(rows))[:n_landmarks]
    made = gl.DeepMapNetwork(kernel, landmarks=landmarks, random_state=seed).fit(views).map_
    yield NYSTROM, made, time.perf_counter() - started
    started = time.perf_counter()
    made = move_landmarks(made, views, generator).map
    yield MOVED, made, time.perf_counter() - started
    if not with_labels:
        return
    started = time.perf_counter()
    made = finish_with_labels(made, views, signs, ranking, generator).map
    yield FINISHED, made, time.perf_counter() - started


def margins(phi: Tensor, labels: np.ndarray, fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
    """The classifier's heads on vectors."""
    signs, ones = 2.0 * labels[fitted] - 1.0, [(1.0, 1.0)] * labels.shape[1]
    head = fit_all_labels(phi[torch.from_numpy(fitted)], signs, SquaredHinge(), C, ones, budget=1 << 32)
    return head.margins(phi[torch.from_numpy(asked)].cpu().numpy())


def percent(phi: Tensor, gram: Tensor, rows: np.ndarray) -> float:
    """The relative error over all pairs of some pictures."""
    chosen = torch.from_numpy(rows).to(gram.device)
    errors = pairwise_relative_error(phi[chosen] @ phi[chosen].T, gram[chosen][:, chosen])
    return 100.0 * errors.double().mean().item()


def best_penalty(answers: Any, corel: Corel5k, held: np.ndarray) -> float:
    return max(PENALTIES, key=lambda C: judge(answers(C), corel.labels[held]).both_maps)


def judged(answers: np.ndarray, corel: Corel5k) -> Figures:
    scores = judge(answers, corel.labels[corel.test])
    return {"MAP per picture": scores.map_pictures, "MAP per keyword": scores.map_keywords}


def chosen_penalties(corel: Corel5k, sizes: list[int]) -> dict[tuple[int | None, str], float]:
    """The C of the kernel and of every map, by what a fifth of the training pictures says of the first draw."""
    fit, held = corel.validation_split(0)
    kernel = learned(corel, fit, 0)
    gram = kernel.tensor(corel.views, corel.views, torch.float32).to(choose_device(corel.views))
    found = {(None, ITSELF): best_penalty(lambda C: svm_margins(gram, corel.labels, fit, held, C), corel, held)}
    for n_landmarks in sizes:
        for row, made, _ in maps(kernel, corel, fit, n_landmarks, 0, with_labels=True):
            phi = made.transform(corel.views).to(gram)
            found[n_landmarks, row] = best_penalty(
                lambda C, phi=phi: margins(phi, corel.labels, fit, held, C), corel, held
            )
    return found


def main() -> None:
    parser = parser_of(__doc__, draws=3)
    add_options(parser)
    parser.add_argument("--landmarks", type=int, nargs="+", default=[500, 700, 2000])
    parser.add_argument("--frozen", type=Path, help="a saved kernel, for the relative errors alone")
    chosen = parser.parse_args()
    gl.set_config(device=chosen.device)
    corel, cells = load(chosen.features), {}
    penalties = {} if chosen.frozen else chosen_penalties(corel, chosen.landmarks)
    print("C:", {f"{n} {row}": C for (n, row), C in penalties.items()}, flush=True)

    def note(n_landmarks: int | None, row: str, figures: Figures) -> None:
        cells.setdefault((n_landmarks, row), []).append(figures)
        print(n_landmarks, row, *(f"{name} {figure:.3f}" for name, figure in figures.items()), flush=True)

    for draw in range(chosen.draws):
        started = time.perf_counter()
        kernel = gl.load(chosen.frozen) if chosen.frozen else learned(corel, corel.train, draw)
        seconds = time.perf_counter() - started
        gram = kernel.tensor(corel.views, corel.views, torch.float32).to(choose_device(corel.views))
        if penalties:
            answers = svm_margins(gram, corel.labels, corel.train, corel.test, penalties[None, ITSELF])
            note(None, ITSELF, judged(answers, corel) | {"seconds": seconds})
        for n_landmarks in chosen.landmarks:
            for row, made, seconds in maps(
                kernel, corel, corel.train, n_landmarks, draw, with_labels=not chosen.frozen
            ):
                phi = made.transform(corel.views).to(gram)
                figures = {"outside S and S'": percent(phi, gram, corel.test), "seconds": seconds}
                if penalties:
                    C = penalties[n_landmarks, row]
                    figures |= judged(margins(phi, corel.labels, corel.train, corel.test, C), corel)
                note(n_landmarks, row, figures)
    show(cells)


def show(cells: dict[tuple[int | None, str], list[Figures]]) -> None:
    rows = []
    for (n_landmarks, row), runs in cells.items():
        values = [np.array([run[name] for run in runs if name in run]) for name in COLUMNS]
        texts = [f"{v.mean():.2f} ± {np.ptp(v) / 2:.2f}" if v.size else "" for v in values]
        rows.append(["" if n_landmarks is None else f"{n_landmarks:,}", row, *texts])
    runs_by_cell = [{"S": n, "map": row, "runs": runs} for (n, row), runs in cells.items()]
    report("landmarks", "Moved landmarks on COREL5k", ["S", "map", *COLUMNS], rows, {"cells": runs_by_cell})


if __name__ == "__main__":
    main()
