"""Time of kernels and maps against the number of pictures, and per test picture."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import numpy as np
import torch

from gramless import DeepMapNetwork
from reproduction import paper
from reproduction.cells import Cell, Computed, Figures
from reproduction.laboratory import Laboratory, NetworkSpec
from reproduction.report import Curve, Entry, Figure, Row, Table

Result = TypeVar("Result")

GROWTH, PER_PICTURE = "time", "time per picture"
VERSION = 2
LONG_SECONDS = 5.0  # from which one run is enough
N_RUNS = 3


@dataclass(frozen=True)
class Grid:
    """|T|, and the S of the maps whose growth and whose time per picture are measured."""

    n_samples: tuple[int, ...]
    grown_landmarks: tuple[int, ...]
    n_landmarks: tuple[int, ...]
    max_samples: int


def cells(laboratory: Laboratory, features: str, grid: Grid) -> list[Cell]:
    network = NetworkSpec("supervised", 3, grid.max_samples, 0)
    growth = [
        growth_cell(laboratory, features, network, n_landmarks, size)
        for size in grid.n_samples
        for n_landmarks in (None, *grid.grown_landmarks)
    ]
    return growth + [
        picture_cell(laboratory, features, network, n_landmarks) for n_landmarks in (None, *grid.n_landmarks)
    ]


def growth_cell(
    laboratory: Laboratory, features: str, network: NetworkSpec, n_landmarks: int | None, n_samples: int
) -> Cell:
    """Seconds of all kernel values between n_samples pictures, or of their vectors."""

    def compute() -> Figures:
        pictures, kernel = laboratory.collection, laboratory.kernel(network)
        T = pictures.views[laboratory.draw(0, None, 0).order[:n_samples]]
        if n_landmarks is None:
            return {"seconds": median_seconds(lambda: kernel.tensor(T, T))}
        landmarks = laboratory.draw(n_landmarks, None, 0).landmarks
        deep_map = DeepMapNetwork(kernel, landmarks=landmarks, random_state=0).fit(pictures.views).map_
        return {"seconds": median_seconds(lambda: deep_map.transform(T))}

    settings = _settings(laboratory, features, network, n_landmarks) | {"T": n_samples}
    work = float(n_samples) ** (2 if n_landmarks is None else 1)
    return Cell(GROWTH, VERSION, settings, compute, (laboratory.fingerprint, network), work)


def picture_cell(laboratory: Laboratory, features: str, network: NetworkSpec, n_landmarks: int | None) -> Cell:
    """Seconds per test picture from its features to the scores of all keywords, test pictures taken together."""

    def compute() -> Figures:
        pictures, kernel = laboratory.collection, laboratory.kernel(network)
        test, train = pictures.views[pictures.test], pictures.views[pictures.train]
        n_keywords, rng = pictures.labels.shape[1], np.random.default_rng(0)
        if n_landmarks is None:
            head = torch.from_numpy(rng.normal(size=(len(train), n_keywords)).astype(np.float32))
            return {"seconds": median_seconds(lambda: kernel.tensor(test, train) @ head) / len(test)}
        landmarks = laboratory.draw(n_landmarks, None, 0).landmarks
        deep_map = DeepMapNetwork(kernel, landmarks=landmarks, random_state=0).fit(pictures.views).map_
        head = torch.from_numpy(rng.normal(size=(deep_map.n_components, n_keywords)).astype(np.float32))
        return {"seconds": median_seconds(lambda: deep_map.transform(test) @ head) / len(test)}

    settings = _settings(laboratory, features, network, n_landmarks)
    return Cell(PER_PICTURE, VERSION, settings, compute, (laboratory.fingerprint, network))


def median_seconds(work: Callable[[], object]) -> float:
    """Of three runs, or of one where that takes long, after a first one that compiles and loads and is not counted."""
    work()
    taken = [timed(work)[1]]
    while len(taken) < N_RUNS and taken[0] < LONG_SECONDS:
        taken.append(timed(work)[1])
    return statistics.median(taken)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work gives, and its seconds, until the GPU has finished too."""
    started = time.perf_counter()
    result = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return result, time.perf_counter() - started


def growth_figure(computed: Computed, features: str, grid: Grid) -> Figure:
    curves = []
    for device, n_landmarks in product(computed.devices(GROWTH), (None, *grid.grown_landmarks)):
        found = [
            (float(size), run["seconds"])
            for size in grid.n_samples
            for run in computed.runs(GROWTH, features=features, S=n_landmarks, T=size, device=device)
        ]
        if found:
            sizes, seconds = zip(*found, strict=True)
            curves.append(Curve(f"{_model(n_landmarks)}, {device}", sizes, seconds))
    return Figure(
        f"Time against |T|, {features} features",
        "All kernel values between the pictures of T (DKN), and their vectors (DMN). Features are not "
        "counted. Time of the DKN grows with the square of |T|, that of a DMN with |T|.",
        "pictures in T",
        "seconds",
        tuple(curves),
        logarithmic=True,
    )


def picture_table(computed: Computed, features: str, grid: Grid, *, with_paper: bool) -> Table:
    """with_paper : whether the paper's times are about these features"""
    rows = []
    devices = computed.devices(PER_PICTURE) or [device_name()]
    for n_landmarks in (None, *grid.n_landmarks):
        theirs = paper.seconds_per_picture("corel5k", n_landmarks) if with_paper else None
        entries = []
        for device in devices:
            runs = computed.runs(PER_PICTURE, features=features, S=n_landmarks, device=device)
            seconds = tuple(1e3 * run["seconds"] for run in runs)
            entries.append(Entry(seconds, None if theirs is None else 1e3 * theirs, "lower", 3))
        rows.append(Row(_model(n_landmarks), tuple(entries)))
    return Table(
        f"Time per test picture, {features} features",
        "Milliseconds from features to the scores of all keywords, all test pictures at once; the paper's on an Intel "
        "Core i5.",
        (),
        tuple(f"on {device}" for device in devices),
        tuple(rows),
        like_for_like=False,
    )


def device_name() -> str:
    """Where this machine computes."""
    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    n_threads = torch.get_num_threads()
    return f"a CPU with {n_threads} {'thread' if n_threads == 1 else 'threads'}"


def _model(n_landmarks: int | None) -> str:
    return "DKN" if n_landmarks is None else f"DMN, S = {n_landmarks:,}"


def _settings(
    laboratory: Laboratory, features: str, network: NetworkSpec, n_landmarks: int | None
) -> dict[str, object]:
    return {
        "model": "DKN" if n_landmarks is None else "DMN",
        "features": features,
        "S": n_landmarks,
        "learned on": network.max_samples,
        "device": device_name(),
        "data": laboratory.fingerprint,
    }
