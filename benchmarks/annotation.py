"""Claim: keywords of COREL5k by a deep map, from the pictures themselves, ahead of the paper's kernel.

The official split. All settings of `gramless annotate` were chosen on a fifth of the training pictures; the operating
point is chosen by the model itself on out-of-fold scores of the training pictures, whose curve is printed. Five
keywords per picture, R and P averaged over the keywords of the test pictures. Three seeds of network, landmarks and
folds on one set of visual words; mean and spread. Times: all features from the pictures and from the cache, fitting,
predicting.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from harness import at_least, at_most, report

from gramless.pictures.annotation import Album, Annotator, Judgement, judge
from gramless.pictures.annotation.fitting import N_KEYWORDS, N_LANDMARKS, learn_keywords
from gramless.pictures.datasets import AnnotatedPictures, read_corel5k
from gramless.pictures.features import HANDCRAFTED, LEARNED, FeatureCache, PictureFeatures

VIEWS = {"handcrafted": HANDCRAFTED, "with learned": HANDCRAFTED + LEARNED}
PAPER = {
    ("handcrafted", "the paper's DKN"): (37.7, 25.5, 30.4, 158),
    ("handcrafted", "the paper's DMN"): (34.7, 21.0, 26.2, 168),
    ("with learned", "the paper's DKN"): (42.6, 24.9, 31.4, 180),
}
WANTED = {"handcrafted": (32.0, 160), "with learned": (42.0, 195)}
PREDICTED = 100  # pictures that are annotated from their files against the clock


Result = TypeVar("Result")


def timed(action: Callable[[], Result]) -> tuple[Result, float]:
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of COREL5k")
    parser.add_argument("--cache", type=Path, required=True, help="folder for features; an empty one to time them")
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=list(VIEWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--name", default="annotation", help="of the JSON file")
    chosen = parser.parse_args()
    train, test = (read_corel5k(chosen.data, part) for part in ("train", "test"))
    cache = FeatureCache(chosen.cache)
    figures: dict[str, Any] = {"times": {}}
    rows: list[list[str]] = []
    claims = []
    for label in chosen.views:
        features, times = describe(train, test, VIEWS[label], cache)
        print(label, "features", times, flush=True)
        judged = [fit_and_judge(features, train, test, cache, seed, times) for seed in range(chosen.seeds)]
        figures[label] = [
            {
                "seed": seed,
                **asdict(j.quality.macro),
                "map_pictures": j.quality.map_pictures,
                "map_keywords": j.quality.map_keywords,
            }
            for seed, j in enumerate(judged)
        ]
        figures["times"][label] = times
        rows += [[label, name, *map(str, numbers), ""] for (of, name), numbers in PAPER.items() if of == label]
        rows.append([label, f"DMN, {N_LANDMARKS:,} landmarks", *spread(judged)])
        least_f1, least_n_plus = WANTED[label]
        claims.append(at_least(f"{label}: F1", float(np.mean([j.quality.macro.f1 for j in judged])), least_f1))
        claims.append(at_least(f"{label}: N+", float(np.mean([j.quality.macro.n_plus for j in judged])), least_n_plus))
        claims.append(
            at_most(f"{label}: minutes of fitting", max(times[f"fit {s}"] for s in range(len(judged))) / 60, 10)
        )
        claims.append(at_least(f"{label}: pictures predicted per second", times["pictures predicted per second"], 5))
    report(
        chosen.name,
        "COREL5k, five keywords per picture, official test pictures",
        ["views", "", "R", "P", "F1", "N+", "MAP/picture, /keyword"],
        rows,
        figures,
        claims,
    )


def describe(
    train: AnnotatedPictures, test: AnnotatedPictures, views: Sequence[str], cache: FeatureCache
) -> tuple[PictureFeatures, dict[str, float]]:
    """Visual words and features of all pictures, twice: as they come, and from the cache."""

    def once() -> PictureFeatures:
        features = PictureFeatures.learn(train.paths, views, cache=cache)
        for part in (train, test):
            features.describe(part.paths, cache=cache)
        return features

    _, first = timed(once)
    features, again = timed(once)
    return features, {"features": first, "from the cache": again}


def fit_and_judge(
    features: PictureFeatures,
    train: AnnotatedPictures,
    test: AnnotatedPictures,
    cache: FeatureCache,
    seed: int,
    times: dict[str, float],
) -> Judgement:
    described = features.describe(train.paths, cache=cache)
    assert described.views is not None
    classifier, times[f"fit {seed}"] = timed(lambda: learn_keywords(described.views, train.labels, N_LANDMARKS, seed))
    empty = Album.of((), train.labels[:0], np.zeros((0, 1), np.float32), ())
    annotator = Annotator(features, classifier, train.keywords, empty)
    for point in classifier.operating_points_:
        print(
            f"  weight {point.recall_weight:g}: R {point.recall:.1f}, P {point.precision:.1f}, F1 {point.f1:.1f}, "
            f"N+ {point.n_plus:.0f} on validation",
            flush=True,
        )
    judgement = judge(annotator, test, top=N_KEYWORDS, cache=cache)
    print(
        seed, judgement.quality.macro, judgement.quality.map_pictures, judgement.quality.map_keywords, times, flush=True
    )
    if seed == 0:
        some = slice(PREDICTED)
        _, seconds = timed(lambda: annotator.annotate(test.paths[some], test.names[some]))
        times["pictures predicted per second"] = PREDICTED / seconds
    return judgement


def spread(judged: Sequence[Judgement]) -> list[str]:
    def cell(values: list[float]) -> str:
        return f"{np.mean(values):.1f} ± {np.std(values, ddof=1) if len(values) > 1 else 0.0:.1f}"

    scores = [j.quality.macro for j in judged]
    maps = f"{cell([j.quality.map_pictures for j in judged])}, {cell([j.quality.map_keywords for j in judged])}"
    return [*(cell([getattr(s, name) for s in scores]) for name in ("recall", "precision", "f1", "n_plus")), maps]


if __name__ == "__main__":
    main()
