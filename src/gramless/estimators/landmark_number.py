"""How many landmarks? As few as meet a wish: the relative error of the map on samples that are held out.

Maps of 50, 100, 200, ... landmarks are compiled and judged until one meets the wish; then one between the last two,
where a straight line through the logarithms of errors and numbers meets it. What is judged is the map itself, with its
columns and in its type, and the one that is chosen is kept as it is. Landmarks are looked for among 20,000 samples at
most, of which no two are the same.

The largest map has N landmarks, and numbers double: all maps take 4/3 of its N^2 / 2 kernel values and 8/7 of its
eigendecomposition, some 9 N^3 operations in float64; the one in between takes less than as much again. Judging takes
h^2 / 2 + 2 h N kernel values and h N (2 N + h) multiply-adds, of h <= 500 samples. Memory: 40 N^2 bytes.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from math import ceil, isqrt, log
from sys import float_info
from typing import Any

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device
from gramless.errors import ClippedSpectrumWarning, MemoryBudgetError
from gramless.maps import CollapsedMap, collapse
from gramless.maps.collapsed import BYTES_PER_PAIR
from gramless.maps.landmarks import Selector
from gramless.maps.tuning.held_out import MIN_SAMPLES, fresh_rows, held_out_error, hold_out
from gramless.support.budget import readable
from gramless.views import Views

FEWEST = 50
ALL_OF, OF_MORE = 2_500, 500  # "auto": of so few samples all are landmarks, which learning took far longer for
MOST_SAMPLES = 20_000  # that are looked at: ten for each of 2,000 landmarks
KEPT_BYTES = 8  # per pair of landmarks: the projection of the best map so far, beside the one that is compiled
JUDGING_SHARE = 4  # of the memory budget, for pairs of samples that are held out
JUDGED_BYTES = 32  # per such pair: the kernel's value, the map's, and their difference
MARGIN = 1.05  # more landmarks than a straight line says: errors lie on it to a few hundredths of themselves

Curve = tuple[tuple[int, float, float], ...]
"""Points (number of landmarks, relative error in percent, operations per sample in transform), fewest first."""


def wished_error(value: Any) -> float | None:
    """The error of a wish such as "0.5 %", in percent; None for what is no wish."""
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*%\s*", value) if isinstance(value, str) else None
    return float(found[1]) if found is not None and 0.0 < float(found[1]) < 100.0 else None


def number_of(n_landmarks: int | str, n_samples: int) -> int:
    """Of a number or "auto": with all samples the map is the kernel itself; of many, few that are moved come near."""
    wanted = (ALL_OF if n_samples <= ALL_OF else OF_MORE) if n_landmarks == "auto" else int(n_landmarks)
    return min(wanted, n_samples)


@dataclass(frozen=True, eq=False)
class LandmarkChoice:
    """The map that was chosen, which samples its landmarks are, by which it was judged, and by which curve chosen.

    `shortfall` says why the wish is not met, if so. The curve is empty where samples are too few to hold any out.
    """

    map: CollapsedMap
    rows: Tensor
    held_out: Tensor
    curve: Curve
    shortfall: str | None


def choose_number(
    kernel: DeepKernel,
    X: Views,
    wished: float,
    select: Selector,
    n_components: int | None,
    generator: torch.Generator,
    budget: int,
) -> LandmarkChoice:
    """The map with the fewest landmarks whose error, in percent, is as wished; the closest one where none is.

    Selectors begin anew with the same seed for each number, so that uniform landmarks are among those of larger maps.
    """
    drawn = torch.randperm(len(X), generator=generator)[:MOST_SAMPLES]
    different = drawn[fresh_rows(X[drawn], X[:0], X.dtype)]
    if len(different) < MIN_SAMPLES:
        compiled = collapse(kernel, X[different].dense(X.dtype), n_components, X.dtype)
        shortfall = (
            f"{len(different)} different samples are too few to hold some out; all of them become landmarks. Fit on "
            "more samples, or give a number."
        )
        return LandmarkChoice(compiled, different, different[:0], (), shortfall)
    split = hold_out(different, generator)
    judges = split.held_out[: max(2, isqrt(budget // (JUDGING_SHARE * JUDGED_BYTES)))]
    held_out = X[judges]
    gram, candidates = kernel.tensor(held_out, held_out, X.dtype), X[split.train]
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    device = choose_device(X)

    def attempt(n_landmarks: int) -> tuple[float, CollapsedMap, Tensor]:
        rows = split.train[select(kernel, candidates, n_landmarks, torch.Generator().manual_seed(seed), budget)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedSpectrumWarning)  # of maps that are not kept
            compiled = collapse(kernel, X[rows].dense(X.dtype), n_components, X.dtype)
        error = held_out_error(compiled.transform(held_out), gram)
        curve.append((n_landmarks, error, compiled.plan(1, device).operations))
        return error, compiled, rows

    curve: list[tuple[int, float, float]] = []
    most = min(len(candidates), max(1, isqrt(budget // (BYTES_PER_PAIR + KEPT_BYTES))))
    n_landmarks = min(FEWEST, most)
    best, refused = attempt(n_landmarks), ""
    while best[0] > wished and n_landmarks < most:
        n_landmarks = min(2 * n_landmarks, most)
        try:
            best = min(best, attempt(n_landmarks), key=lambda tried: tried[0])
        except MemoryBudgetError as refusal:  # of a selector, which may need more than the map
            refused = f"{str(refusal).removesuffix('.')},"
            break
    error, compiled, rows = best
    if error > wished:
        if most < len(candidates):
            refused = refused or f"A memory budget of {readable(budget)} allows no more: raise memory_budget,"
        shortfall = f"{len(rows):,} landmarks reach {error:.3g}%. "
        shortfall += _remedy(len(rows), curve[-1][0], n_components, refused) + " wish for less, or give a number."
        return LandmarkChoice(compiled, rows, judges, tuple(sorted(curve)), shortfall)
    if len(curve) > 1 and (between := interpolated(curve[-2], curve[-1], wished)) < n_landmarks:
        error, fewer, among = attempt(between)
        if error <= wished:
            compiled, rows = fewer, among
    return LandmarkChoice(compiled, rows, judges, tuple(sorted(curve)), None)


def interpolated(above: tuple[int, float, float], below: tuple[int, float, float], wished: float) -> int:
    """How many landmarks have the error wished for, on a line through both points in logarithms; and a few more."""
    high, low = log(above[1]), log(max(below[1], float_info.min))
    share = (high - log(wished)) / (high - low)
    return ceil(MARGIN * above[0] * (below[0] / above[0]) ** min(share, 1.0))


def _remedy(n_chosen: int, n_largest: int, n_components: int | None, refused: str) -> str:
    """What stopped the search, and what to do about it."""
    if n_components is not None and n_components < n_largest:
        return f"n_components={n_components} leaves out a part of the kernel: keep more,"
    if n_chosen < n_largest:
        return "More landmarks come no closer:"
    return (
        refused or f"The other samples are held out, or the same: fit on more, of which {MOST_SAMPLES:,} are looked at,"
    )
