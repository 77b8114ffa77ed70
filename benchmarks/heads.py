"""Claim: with the right head a map of 2,000 landmarks classifies nearly as well as the deep kernel that it maps.

COREL5k, official split, one frozen learned DKN (benchmarks/learning.py saves it). C of every head is chosen on a fifth
of the training pictures, the test pictures are looked at once; three draws of landmarks, mean and spread. Then the same
inductive calibration, learned on out-of-fold training scores at a strength chosen on validation, for DKN and DMN. The
paper's balanced ensembles, slow label by label, run once at up to 700 landmarks with C = 1.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from corel5k import PENALTIES, Corel5k, Scores, add_options, judge, load, svm_margins
from harness import RESULTS, report
from torch import Tensor

import gramless as gl
from gramless.budget import resolve_budget
from gramless.heads import (
    Calibration,
    HuberizedHinge,
    LinearOnSubset,
    SquaredHinge,
    fit_all_labels,
    fit_balanced_ensemble,
    out_of_fold_scores,
)
from gramless.learning import box, solve_svm_duals

TUNED_LANDMARKS = 1_000  # up to which maps are tried fine-tuned as well
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
COLUMNS = ("recall", "precision", "n_plus", "map_pictures", "map_keywords")

Margins = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
"""margins(fitted, asked, C): learn from the labels of some rows, answer for others."""


def linear_heads(phi: Tensor, widths: float, labels: np.ndarray, seed: int) -> dict[str, Margins]:
    """Every head on the vectors of all pictures."""
    signs = 2.0 * labels - 1.0
    ones = [(1.0, 1.0)] * labels.shape[1]

    def hinge(fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
        x = phi[fitted]
        y = torch.from_numpy(signs[fitted].T).float().to(phi.device)
        solution = solve_svm_duals((x @ x.T).contiguous(), y, box(y, C), gap=5e-3)
        w = solution.coefficients @ x
        return (phi[asked].double() @ w.double().T + solution.bias).cpu().numpy()

    def batched(loss: SquaredHinge | HuberizedHinge) -> Margins:
        def margins(fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
            head = fit_all_labels(
                phi[fitted], signs[fitted], loss, C, ones, budget=resolve_budget(None), tolerance=1e-3
            )
            return head.margins(phi[asked].cpu().numpy())

        return margins

    def balanced(fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
        fit = LinearOnSubset(phi[fitted].cpu().numpy(), C, "squared_hinge", 1_000, seed)
        head = fit_balanced_ensemble(fit, signs[fitted], 5, torch.Generator().manual_seed(seed))
        return head.margins(phi[asked].cpu().numpy())

    return {
        "hinge": hinge,
        "squared hinge": batched(SquaredHinge()),
        "Huberised hinge": batched(HuberizedHinge(widths)),
        "balanced ensemble": balanced,
    }


def choose(corel: Corel5k, margins: Margins, penalties: tuple[float, ...]) -> tuple[float, Scores]:
    """C and the validation scores that it reaches."""
    fitted, held = corel.validation_split(0)
    tried = {C: judge(margins(fitted, held, C), corel.labels[held]) for C in penalties}
    best = max(tried, key=lambda C: tried[C].both_maps)
    return best, tried[best]


def calibrated(corel: Corel5k, margins: Margins, C: float) -> tuple[float, Scores]:
    """The strength chosen on validation, and the test scores of five calibrated keywords per picture."""
    fitted, held = corel.validation_split(0)

    def calibrate(rows: np.ndarray, asked: np.ndarray, strengths: tuple[float, ...]) -> dict[float, Scores]:
        signs = 2.0 * corel.labels[rows] - 1.0
        generator = torch.Generator().manual_seed(0)
        seen = out_of_fold_scores(lambda a, b: margins(rows[a], rows[b], C), signs, 5, generator)
        raw = margins(rows, asked, C)
        return {s: judge(Calibration.learn(seen, signs, s).apply(raw), corel.labels[asked]) for s in strengths}

    def f1(scores: Scores) -> float:
        return 2 * scores.recall * scores.precision / max(scores.recall + scores.precision, 1e-9)

    tried = calibrate(fitted, held, STRENGTHS)
    strength = max(tried, key=lambda s: f1(tried[s]))
    return strength, calibrate(corel.train, corel.test, (strength,))[strength]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--kernel", type=Path, default=RESULTS / "dkn.gramless")
    parser.add_argument("--landmarks", type=int, nargs="+", default=[500, 700, 1000, 2000, 4500])
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    corel = load(chosen.features)
    kernel = gl.load(chosen.kernel)
    device = kernel.compute_device(corel.views)
    gram = torch.cat([kernel.tensor(corel.views[r], corel.views) for r in np.array_split(np.arange(4999), 10)]).to(
        device
    )

    def kernel_margins(fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
        return svm_margins(gram, corel.labels, fitted, asked, C)

    table: dict[str, list[dict]] = {}
    C, on_validation = choose(corel, kernel_margins, PENALTIES)
    on_test = judge(kernel_margins(corel.train, corel.test, C), corel.labels[corel.test])
    strength, five = calibrated(corel, kernel_margins, C)
    table["DKN + SVM"] = [row(C, on_validation, on_test, strength, five)]
    print("DKN", f"C={C:g}", short(on_validation), short(on_test), short(five), flush=True)
    for n_landmarks in chosen.landmarks:
        for seed in range(chosen.seeds if n_landmarks < 4500 else 1):
            for tuning in (None, "default") if n_landmarks <= TUNED_LANDMARKS else (None,):
                dmn = gl.DeepMapNetwork(kernel, n_landmarks, tuning=tuning, random_state=seed)
                phi = torch.from_numpy(dmn.fit(corel.views[corel.train]).transform(corel.views)).to(device)
                width = float((gram.diagonal() - phi.square().sum(1))[:4500].mean().clamp_min(1e-3))
                for name, margins in linear_heads(phi, width, corel.labels, seed).items():
                    if name == "balanced ensemble" and (seed or tuning or n_landmarks > 700):
                        continue
                    penalties = (1.0,) if name == "balanced ensemble" else PENALTIES
                    C, on_validation = choose(corel, margins, penalties)
                    on_test = judge(margins(corel.train, corel.test, C), corel.labels[corel.test])
                    with_calibration = name == "squared hinge" and n_landmarks == 2000
                    strength, five = calibrated(corel, margins, C) if with_calibration else (None, None)
                    label = f"{'tuned ' if tuning else ''}DMN {n_landmarks}, {name}"
                    table.setdefault(label, []).append(row(C, on_validation, on_test, strength, five))
                    print(label, seed, f"C={C:g}", short(on_validation), short(on_test), short(five), flush=True)

    def cell(runs: list[dict], part: str, column: str) -> str:
        values = [run[part][column] for run in runs if run[part] is not None]
        if not values:
            return ""
        return f"{np.mean(values):.1f} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.1f}"

    rows = [
        [
            name,
            *(cell(runs, "validation", c) for c in COLUMNS[3:]),
            *(cell(runs, "test", c) for c in COLUMNS),
            *(cell(runs, "calibrated", c) for c in COLUMNS[:3]),
        ]
        for name, runs in table.items()
    ]
    heads = ["", "val MAP/pic", "val MAP/kw", "R", "P", "N+", "MAP/pic", "MAP/kw", "cal R", "cal P", "cal N+"]
    weights = b"".join(layer.weights.numpy().tobytes() for layer in kernel.layers)
    figures = {"table": table, "kernel_sha256": hashlib.sha256(weights).hexdigest()}
    report("heads", "Heads on the maps of one frozen DKN, COREL5k", heads, rows, figures)


def short(scores: Scores | None) -> str:
    return "" if scores is None else " ".join(f"{value:.1f}" for value in asdict(scores).values())


def row(C: float, validation: Scores, test: Scores, strength: float | None, five: Scores | None) -> dict:
    return {
        "C": C,
        "validation": asdict(validation),
        "test": asdict(test),
        "strength": strength,
        "calibrated": asdict(five) if five else None,
    }


if __name__ == "__main__":
    main()
