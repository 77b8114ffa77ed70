"""Claim: with the right head a map of 2,000 landmarks classifies nearly as well as the deep kernel that it maps.

COREL5k, official split, one frozen learned DKN (benchmarks/learning.py saves it). C of every head is chosen on a fifth
of the training pictures, the test pictures are looked at once; three draws of landmarks, mean and spread. Landmarks
come from the other four fifths as long as those suffice: a map shows a landmark otherwise than a new picture, and a
picture to choose by has to be new, as test pictures are. Every head runs on the map as it is compiled and on the one
with exact landmarks, squared and Huberised hinge up to 1,000 landmarks on the fine-tuned one as well; "default" marks
what DeepMapClassifier does unless told otherwise.

Then five keywords per picture by gains, for the DKN and for the default on 2,000 landmarks: probabilities and gains are
learned on out-of-fold training scores, and so is the weight of recall, as the estimator does it with "auto". What every
weight would give is shown on validation. The paper's balanced ensembles, slow label by label, run once at up to
700 landmarks with C = 1.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from corel5k import PENALTIES, Corel5k, Scores, add_options, judge, load, svm_margins
from harness import RESULTS, report
from torch import Tensor

import gramless as gl
from gramless.engine import choose_device
from gramless.heads import (
    Calibration,
    HuberizedHinge,
    LinearOnSubset,
    SquaredHinge,
    TopGains,
    fit_all_labels,
    fit_balanced_ensemble,
    out_of_fold_scores,
)
from gramless.heads.operating_points import RECALL_WEIGHTS, best_recall_weight, operating_points
from gramless.learning import box, solve_svm_duals
from gramless.metrics import annotation_scores
from gramless.support.config import current_budget

TUNINGS = {None: "", "exact": ", exact landmarks", "default": ", fine-tuned"}
FINE_TUNED_LANDMARKS = 1_000  # up to which maps are tried fine-tuned as well
HEADS = ("hinge", "squared hinge", "Huberised hinge", "balanced ensemble")
DEFAULT_HEAD = "squared hinge"
LINEAR_PENALTIES = (0.3, 0.5, 0.8, 1.3, 2.0, 4.0, 10.0)
KERNEL_PENALTIES = tuple(sorted({*PENALTIES, *LINEAR_PENALTIES}))
CALIBRATED_LANDMARKS = 2_000
N_KEYWORDS = 5  # per picture
COLUMNS = ("recall", "precision", "n_plus", "map_pictures", "map_keywords")

Margins = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
"""margins(fitted, asked, C): learn from the labels of some rows, answer for others."""


def linear_heads(phi: Tensor, width: float, labels: np.ndarray, seed: int) -> dict[str, Margins]:
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
            head = fit_all_labels(phi[fitted], signs[fitted], loss, C, ones, budget=current_budget(), tolerance=1e-3)
            return head.margins(phi[asked].cpu().numpy())

        return margins

    def balanced(fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
        fit = LinearOnSubset(phi[fitted].cpu().numpy(), C, "squared_hinge", 1_000, seed)
        head = fit_balanced_ensemble(fit, signs[fitted], 5, torch.Generator().manual_seed(seed))
        return head.margins(phi[asked].cpu().numpy())

    return dict(zip(HEADS, (hinge, batched(SquaredHinge()), batched(HuberizedHinge(width)), balanced), strict=True))


def choose(corel: Corel5k, margins: Margins, penalties: tuple[float, ...]) -> tuple[float, Scores]:
    """C and the validation scores that it reaches."""
    fitted, held = corel.validation_split(0)
    tried = {C: judge(margins(fitted, held, C), corel.labels[held]) for C in penalties}
    best = max(tried, key=lambda C: tried[C].both_maps)
    return best, tried[best]


@dataclass
class Result:
    """One head on one map, or the kernel itself."""

    C: float
    validation: Scores
    test: Scores
    recall_weight: float | None = None  # the best on out-of-fold scores of the training pictures
    calibrated: Scores | None = None  # five keywords per picture by gains with that weight, on the test pictures
    curve: dict[float, Scores] = field(default_factory=dict)  # on validation, by weight

    def __str__(self) -> str:
        parts = [self.validation, self.test, *([self.calibrated] if self.calibrated else [])]
        return f"C={self.C:g} | " + " | ".join(" ".join(f"{v:.1f}" for v in asdict(part).values()) for part in parts)


def evaluate(corel: Corel5k, margins: Margins, penalties: tuple[float, ...], with_calibration: bool) -> Result:
    C, on_validation = choose(corel, margins, penalties)
    result = Result(C, on_validation, judge(margins(corel.train, corel.test, C), corel.labels[corel.test]))
    if with_calibration:
        fitted, held = corel.validation_split(0)
        validation = Calibrated.learn(corel, margins, C, fitted, held)
        result.curve = {weight: validation.scores(weight) for weight in RECALL_WEIGHTS}
        test = Calibrated.learn(corel, margins, C, corel.train, corel.test)
        result.recall_weight = best_recall_weight(operating_points(test.unseen, test.signs, N_KEYWORDS))
        result.calibrated = test.scores(result.recall_weight)
    return result


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Probabilities of keywords; their calibration comes from five folds of the fitted pictures."""

    unseen: np.ndarray  # out-of-fold probabilities of the fitted pictures
    signs: np.ndarray  # of the fitted pictures
    probabilities: np.ndarray  # of the asked ones
    truth: np.ndarray  # of the asked ones
    raw: Scores  # of the asked ones, by margins

    @classmethod
    def learn(cls, corel: Corel5k, margins: Margins, C: float, fitted: np.ndarray, asked: np.ndarray) -> Calibrated:
        signs = 2.0 * corel.labels[fitted] - 1.0
        generator = torch.Generator().manual_seed(0)
        unseen = out_of_fold_scores(lambda a, b: margins(fitted[a], fitted[b], C), signs, 5, generator)
        calibration = Calibration.learn(unseen, signs)
        raw, truth = margins(fitted, asked, C), corel.labels[asked]
        known, new = calibration.probabilities(unseen), calibration.probabilities(raw)
        return cls(known, signs, new, truth, judge(raw, truth))

    def scores(self, recall_weight: float) -> Scores:
        """Of five keywords per picture by gains; rankings stay those by margins."""
        gains = TopGains.learn(self.unseen, self.signs, N_KEYWORDS, recall_weight)
        five = annotation_scores(gains.decide(self.probabilities), self.truth)
        return replace(self.raw, recall=five.recall, precision=five.precision, n_plus=five.n_plus)


def draw_landmarks(corel: Corel5k, n_landmarks: int, seed: int) -> np.ndarray:
    """Training pictures, those to choose settings by last."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(part) for part in corel.validation_split(0)])[:n_landmarks]


def runs(head: str, tuning: str | None, n_landmarks: int, seed: int) -> bool:
    """Whether a head is tried on a map."""
    if head == "balanced ensemble":
        return tuning is None and n_landmarks <= 700 and seed == 0
    return tuning != "default" or (n_landmarks <= FINE_TUNED_LANDMARKS and head != "hinge")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--kernel", type=Path, default=RESULTS / "dkn.gramless")
    parser.add_argument("--landmarks", type=int, nargs="+", default=[500, 700, 1000, 2000, 4500])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--heads", nargs="+", choices=HEADS, default=HEADS)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    corel = load(chosen.features)
    kernel = gl.load(chosen.kernel)
    device = choose_device(corel.views)
    gram = kernel.tensor(corel.views, corel.views).to(device)
    table: dict[str, list[Result]] = {}

    def note(label: str, result: Result) -> None:
        table.setdefault(label, []).append(result)
        print(label, "|", result, flush=True)

    def kernel_margins(fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
        return svm_margins(gram, corel.labels, fitted, asked, C)

    note("DKN + SVM", evaluate(corel, kernel_margins, KERNEL_PENALTIES, True))
    for n_landmarks in chosen.landmarks:
        for seed in range(chosen.seeds if n_landmarks < len(corel.train) else 1):
            can_be_tuned = n_landmarks < len(corel.train)
            for tuning, described in TUNINGS.items() if can_be_tuned else [(None, "")]:
                heads = [head for head in chosen.heads if runs(head, tuning, n_landmarks, seed)]
                if not heads:
                    continue
                dmn = gl.DeepMapNetwork(
                    kernel, landmarks=draw_landmarks(corel, n_landmarks, seed), tuning=tuning, random_state=seed
                )
                phi = torch.from_numpy(dmn.fit(corel.views[corel.train]).transform(corel.views)).to(device)
                width = float((gram.diagonal() - phi.square().sum(1))[corel.train].mean().clamp_min(1e-3))
                margins = linear_heads(phi, width, corel.labels, seed)
                for head in heads:
                    default = head == DEFAULT_HEAD and tuning == ("exact" if can_be_tuned else None)
                    penalties = (1.0,) if head == "balanced ensemble" else LINEAR_PENALTIES
                    result = evaluate(corel, margins[head], penalties, default and n_landmarks == CALIBRATED_LANDMARKS)
                    note(f"DMN {n_landmarks}{described}, {head}{' (default)' if default else ''}", result)
    weights = b"".join(layer.weights.numpy().tobytes() for layer in kernel.layers)
    show(table, hashlib.sha256(weights).hexdigest())


def show(table: dict[str, list[Result]], kernel_sha256: str) -> None:
    """Curves of recall against precision on validation, then the table; both into the JSON file."""
    for name, results in table.items():
        for weight in results[0].curve:
            means = (mean([result.curve[weight] for result in results], c) for c in COLUMNS[:3])
            print(f"validation, {name}, recall weight {weight:g}: R {next(means)}, P {next(means)}, N+ {next(means)}")
    rows = [
        [
            name,
            *(mean([result.validation for result in results], c) for c in COLUMNS[3:]),
            *(mean([result.test for result in results], c) for c in COLUMNS),
            *(mean([result.calibrated for result in results if result.calibrated], c) for c in COLUMNS[:3]),
        ]
        for name, results in table.items()
    ]
    heads = ["", "val MAP/pic", "val MAP/kw", "R", "P", "N+", "MAP/pic", "MAP/kw", "cal R", "cal P", "cal N+"]
    figures = {
        "table": {name: [asdict(result) for result in results] for name, results in table.items()},
        "kernel_sha256": kernel_sha256,
    }
    report("heads", "Heads on the maps of one frozen DKN, COREL5k", heads, rows, figures)


def mean(scores: list[Scores], column: str) -> str:
    """Mean and spread over seeds."""
    values = [getattr(each, column) for each in scores]
    if not values:
        return ""
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.1f}"


if __name__ == "__main__":
    main()
