"""Claim: as many keywords as a picture deserves, with probabilities that mean what they say.

Features of one network, the annotator's own (EfficientNet-Lite0 at 320 pixels), of scenes drawn by the package and,
with --data, of COREL5k's official split. Ours is what `gramless annotate fit --views learned` learns; beside it
scikit-learn's LogisticRegression on the same standardised features, one per keyword, with C and thresholds by
cross-validation on the training pictures. Both answer in three ways: by default above thresholds with the highest
expected F1, of all answers and over keywords together; above a threshold per keyword that had the best out-of-fold F1;
and with five keywords (ours by gains, the other by probability). Our default answer is to be ahead of the better of the
other's two free ones in both kinds of F1. --views standard adds the histogram of colours that `gramless annotate fit`
takes unless told otherwise, for both. All figures on held-out pictures; on scenes a seed is another split, on COREL5k
another fit. --folder keeps scenes and features for the next time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import at_least, at_most, parser_of, report
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from gramless.heads import TopK, f1_thresholds, out_of_fold_scores
from gramless.pictures.annotation import Quality
from gramless.pictures.annotation.fitting import N_KEYWORDS, N_LANDMARKS, learn_keywords
from gramless.pictures.annotation.quality import quality_of
from gramless.pictures.datasets import read_annotated, read_corel5k
from gramless.pictures.features import LEARNED, STANDARD, FeatureCache, PictureFeatures
from gramless.pictures.scenes import write_scenes
from gramless.views import Views
from reproduction.thresholds import learned_threshold

VIEWS = {"learned": LEARNED, "standard": STANDARD}
N_SCENES, N_LEARNED = 600, 300
CS = (0.001, 0.01, 0.1)  # of logistic regression on standardised features
N_FOLDS = 3
OURS, LOGISTIC = "ours", "logistic regression"
DEFAULT, THRESHOLDS, FIVE = "both F1 expected", "threshold per keyword", "five keywords"


@dataclass(frozen=True)
class Split:
    """Features and labels (n, n_keywords) of pictures to learn from and of held-out ones."""

    x: Views
    y: np.ndarray
    x_new: Views
    y_new: np.ndarray


@dataclass(frozen=True)
class Answers:
    """Rankings, probabilities and answers of held-out pictures."""

    rankings: np.ndarray
    probabilities: np.ndarray
    chosen: dict[str, np.ndarray]


def main() -> None:
    parser = parser_of(__doc__, seeds=3)
    parser.add_argument("--data", type=Path, help="folder of COREL5k")
    parser.add_argument("--views", choices=VIEWS, default="learned")
    parser.add_argument("--folder", type=Path, help="where scenes and their features are kept")
    parser.add_argument("--skip-scenes", action="store_true")
    parser.add_argument("--ours-alone", action="store_true", help="without logistic regression, thousands of fits")
    parser.add_argument("--name", default="keywords", help="of the JSON file")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    sets: dict[str, Callable[[int], Split]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder, views = chosen.folder or Path(temporary), VIEWS[chosen.views]
        if not chosen.skip_scenes:
            sets["scenes"] = scenes(folder, views)
        if chosen.data is not None:
            sets["COREL5k"] = corel5k(chosen.data, folder, views)
    learners = {OURS: ours} if chosen.ours_alone else {OURS: ours, LOGISTIC: logistic}
    figures: dict[str, Any] = {}
    rows, claims = [], []
    for name, split_of in sets.items():
        found = [measured(split_of(seed), seed, learners) for seed in range(chosen.seeds)]
        figures[name] = found
        for learner in learners:
            for answer in (DEFAULT, THRESHOLDS, FIVE):
                rows.append([name, learner, answer, *row_of([each[learner][answer] for each in found])])
        own = [each[OURS] for each in found]
        error = float(np.mean([each[DEFAULT]["calibration_error"] for each in own]))
        claims.append(at_most(f"{name}: expected calibration error", error, 0.03))
        if LOGISTIC in learners:
            other = [each[LOGISTIC] for each in found]
            claims += [ahead(name, key, own, other) for key in ("micro f1", "macro f1", "map_pictures", "map_keywords")]
    report(
        chosen.name,
        "Keywords of held-out pictures; means over seeds, in percent",
        [
            "pictures",
            "learner",
            "answer",
            "micro P",
            "R",
            "F1",
            "macro P",
            "R",
            "F1",
            "MAP/picture",
            "/keyword",
            "off by",
        ],
        rows,
        figures,
        claims,
    )


def scenes(folder: Path, names: Sequence[str]) -> Callable[[int], Split]:
    """Drawn scenes and their features, split anew by every seed."""
    if not (folder / "scenes").exists():
        write_scenes(folder / "scenes", N_SCENES, seed=0)
    pictures = read_annotated(folder / "scenes", folder / "scenes" / "keywords.csv")
    x, y = described(pictures.paths, folder, names), pictures.labels

    def split(seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(len(x))
        learned, new = order[:N_LEARNED], order[N_LEARNED:]
        return Split(x[learned], y[learned], x[new], y[new])

    return split


def corel5k(data: Path, folder: Path, names: Sequence[str]) -> Callable[[int], Split]:
    """Its official split, whatever the seed."""
    train, test = read_corel5k(data, "train"), read_corel5k(data, "test")
    x, n = described((*train.paths, *test.paths), folder, names), len(train)
    split = Split(x[np.arange(n)], train.labels, x[np.arange(n, len(x))], test.labels)
    return lambda seed: split


def described(paths: Sequence[Path], folder: Path, names: Sequence[str]) -> Views:
    with closing(FeatureCache(folder / "features")) as cache:
        found = PictureFeatures(tuple(names), {}).describe(paths, cache=cache)
    if found.views is None or found.unreadable:
        raise SystemExit(f"{len(found.unreadable)} pictures cannot be read.")
    return found.views


def measured(split: Split, seed: int, learners: dict[str, Callable[[Split, int], Answers]]) -> dict[str, Any]:
    """By learner and answer all figures; and the seconds that learning took."""
    found: dict[str, Any] = {}
    for learner, learn in learners.items():
        started = time.perf_counter()
        answers = learn(split, seed)
        seconds = time.perf_counter() - started
        names = [str(j) for j in range(split.y.shape[1])]
        counts = split.y.sum(0)
        found[learner] = {"seconds": seconds}
        for answer, chosen in answers.chosen.items():
            quality = quality_of(
                answers.probabilities, chosen, split.y_new > 0, names, counts, rankings=answers.rankings
            )
            found[learner][answer] = numbers(quality)
            shown = ", ".join(f"{key} {value:.3g}" for key, value in found[learner][answer].items())
            print(f"{seed}, {learner}, {answer}, {seconds:.0f} s: {shown}", flush=True)
    return found


def ours(split: Split, seed: int) -> Answers:
    classifier = learn_keywords(split.x, split.y, N_LANDMARKS, seed)
    margins = classifier.decision_function(split.x_new)
    calibration, unseen = classifier.calibration_, classifier.unseen_scores_
    assert calibration is not None
    assert unseen is not None
    p = calibration.probabilities(margins)
    signs = np.where(split.y > 0, 1.0, -1.0)
    return Answers(
        margins,
        p,
        {
            DEFAULT: f1_thresholds(calibration.probabilities(unseen)).decide(p),
            THRESHOLDS: learned_threshold(unseen.astype(float), signs).decide(margins),
            FIVE: classifier.decision_.decide(p),
        },
    )


def logistic(split: Split, seed: int) -> Answers:
    """C by the log loss of out-of-fold probabilities, shared by all keywords; thresholds by out-of-fold F1."""
    blocks, blocks_new = (np.hstack([views[name] for name in views.names]) for views in (split.x, split.x_new))
    scaler = StandardScaler().fit(blocks)
    x, x_new = scaler.transform(blocks), scaler.transform(blocks_new)
    signs = np.where(split.y > 0, 1.0, -1.0)
    unseen = {}
    for c in CS:
        generator = torch.Generator().manual_seed(seed)
        unseen[c] = out_of_fold_scores(
            lambda train, test, c=c: one_by_one(x[train], signs[train], x[test], c), signs, N_FOLDS, generator
        )
    best = min(CS, key=lambda c: np.nanmean(-np.log(np.clip(np.where(signs > 0, unseen[c], 1 - unseen[c]), 1e-9, 1))))
    p = one_by_one(x, signs, x_new, best)
    return Answers(
        p,
        p,
        {
            DEFAULT: f1_thresholds(unseen[best]).decide(p),
            THRESHOLDS: learned_threshold(unseen[best], signs).decide(p),
            FIVE: TopK(N_KEYWORDS).decide(p),
        },
    )


def one_by_one(x: np.ndarray, signs: np.ndarray, x_new: np.ndarray, c: float) -> np.ndarray:
    """Probabilities (n_new, n_keywords); of a keyword that all or none have, that it has it or not."""

    def one(sign: np.ndarray) -> np.ndarray:
        if (sign == sign[0]).all():
            return np.full(len(x_new), float(sign[0] > 0))
        return LogisticRegression(C=c, max_iter=200, tol=1e-3).fit(x, sign).predict_proba(x_new)[:, 1]

    return np.column_stack(Parallel(n_jobs=2, prefer="threads")(delayed(one)(sign) for sign in signs.T))


def numbers(quality: Quality) -> dict[str, float]:
    micro, macro = quality.counts, asdict(quality.macro)
    return {
        "micro precision": micro.precision,
        "micro recall": micro.recall,
        "micro f1": micro.f1,
        "macro precision": macro["precision"],
        "macro recall": macro["recall"],
        "macro f1": macro["f1"],
        "map_pictures": quality.map_pictures,
        "map_keywords": quality.map_keywords,
        "calibration_error": quality.calibration_error,
        "n_plus": macro["n_plus"],
        "keyword_calibration_error": float(np.mean([row.calibration_error for row in quality.keywords])),
    }


def row_of(found: list[dict[str, float]]) -> list[str]:
    keys = [key for key in found[0] if key not in ("n_plus", "keyword_calibration_error", "calibration_error")]
    cells = [f"{np.mean([each[key] for each in found]):.1f}" for key in keys]
    return [*cells, f"{100 * np.mean([each['calibration_error'] for each in found]):.1f}"]


def ahead(name: str, key: str, ours: list[dict], other: list[dict]) -> dict[str, Any]:
    """By our default answer and the better of the other's two free ones."""

    def mean(found: list[dict], answer: str) -> float:
        return float(np.mean([each[answer][key] for each in found]))

    best = max(mean(other, answer) for answer in (DEFAULT, THRESHOLDS))
    return at_least(f"{name}: {key} minus logistic regression's", mean(ours, DEFAULT) - best, 0.0)


if __name__ == "__main__":
    main()
