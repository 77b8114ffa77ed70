"""Relative errors of maps over |T| for every S and S', by Algorithm 1 and by ours (the paper's tables of RE)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.metrics.approximation import pairwise_relative_error
from reproduction import paper
from reproduction.cells import Cell, Computed, Figures
from reproduction.free_vectors import free_vectors
from reproduction.laboratory import Laboratory, MapSpec, NetworkSpec, Tuning
from reproduction.report import Curve, Entry, Figure, Row, Table, over_seeds

TABLE = "relative error"
VERSION = 1
METHODS: dict[Tuning | None, str] = {
    None: "initial",
    "landmarks": "fine-tuned, moved landmarks",
    "algorithm1": "fine-tuned, Algorithm 1",
}
CONSTANT = "a constant in the kernel's place"
FREE = "no map, vectors fitted to these values"
GUESSES = 17  # of the best constant: quantiles of the kernel's values
SAMPLED = 100_000  # values that quantiles are taken of
LOSS_AT = (500, 2000)  # S and S' of the paper's figure of the loss


@dataclass(frozen=True)
class Plan:
    """S, S' beside S itself, |T|, and seeds; the S of Algorithm 1 (first seed alone) and those of free vectors."""

    data_set: paper.DataSet
    n_landmarks: tuple[int, ...]
    n_tuning: tuple[int, ...]
    n_samples: tuple[int, ...]
    algorithm1_landmarks: tuple[int, ...]
    free_landmarks: tuple[int, ...]
    seeds: int
    max_samples: int

    def maps(self, n_landmarks: int) -> Iterator[tuple[Tuning | None, int | None]]:
        """The maps of so many landmarks, row by row of the table."""
        yield None, None
        for n_tuning in sorted({n_landmarks, *self.n_tuning}):
            yield "landmarks", n_tuning
            if n_landmarks in self.algorithm1_landmarks:
                yield "algorithm1", n_tuning


def cells(laboratory: Laboratory, features: str, plan: Plan) -> list[Cell]:
    """Algorithm 1 for the first seed; without a GPU it takes hours."""
    specs = [
        MapSpec(NetworkSpec("supervised", 3, plan.max_samples, seed), n_landmarks, seed, tuning, n_tuning)
        for seed in range(plan.seeds)
        for n_landmarks in plan.n_landmarks
        for tuning, n_tuning in plan.maps(n_landmarks)
        if tuning != "algorithm1" or seed == 0
    ]
    networks = [NetworkSpec("supervised", 3, plan.max_samples, seed) for seed in range(plan.seeds)]
    starts = [
        MapSpec(network, n_landmarks, network.seed, "landmarks", max(plan.n_tuning))
        for network in networks
        for n_landmarks in plan.free_landmarks
    ]
    return [
        *(constant_cell(laboratory, features, network, plan.n_samples) for network in networks),
        *(error_cell(laboratory, features, spec, plan.n_samples) for spec in specs),
        *(free_cell(laboratory, features, start, plan.n_samples) for start in starts),
    ]


def constant_cell(laboratory: Laboratory, features: str, network: NetworkSpec, n_samples: tuple[int, ...]) -> Cell:
    """RE of the best constant: how much there is to approximate at all, which differs from kernel to kernel."""

    def compute() -> Figures:
        gram, order = laboratory.gram(network), laboratory.draw(0, None, network.seed).order
        return {"T": {str(size): constant_percent(gram, order[:size]) for size in n_samples}}

    settings = {
        "model": CONSTANT,
        "features": features,
        "over": list(n_samples),
        "learned on": network.max_samples,
        "seed": network.seed,
        "data": laboratory.fingerprint,
    }
    return Cell(TABLE, VERSION, settings, compute, made_from=(laboratory.fingerprint, network))


def free_cell(laboratory: Laboratory, features: str, start: MapSpec, n_samples: tuple[int, ...]) -> Cell:
    """RE of as many numbers per picture as the map has components, fitted to the values between all pictures."""

    def compute() -> Figures:
        gram, order = laboratory.gram(start.network), laboratory.draw(0, None, start.seed).order
        phi = free_vectors(torch.from_numpy(laboratory.map(start).phi).to(gram), gram)
        return {"T": {str(size): percent(phi, gram, order[:size]) for size in n_samples}}

    return Cell(
        TABLE,
        VERSION,
        _settings(laboratory, FREE, features, start, n_samples),
        compute,
        made_from=(laboratory.fingerprint, start.network, start),
    )


def error_cell(laboratory: Laboratory, features: str, spec: MapSpec, n_samples: tuple[int, ...]) -> Cell:
    def compute() -> Figures:
        made, gram = laboratory.map(spec), laboratory.gram(spec.network)
        phi = torch.from_numpy(made.phi).to(gram)
        drawn = laboratory.draw(spec.n_landmarks, spec.n_tuning, spec.seed)
        outside = drawn.outside
        return {
            "T": {str(size): percent(phi, gram, drawn.order[:size]) for size in n_samples},
            "outside": percent(phi, gram, outside) if len(outside) > 1 else None,
            "curve": made.curve,
        }

    settings = _settings(laboratory, METHODS[spec.tuning], features, spec, n_samples)
    made_from = (laboratory.fingerprint, spec.network, spec)
    return Cell(TABLE, VERSION, settings, compute, made_from, late=spec.tuning == "algorithm1")


def _settings(
    laboratory: Laboratory, model: str, features: str, spec: MapSpec, n_samples: tuple[int, ...]
) -> dict[str, Any]:
    return {
        "model": model,
        "features": features,
        "S": spec.n_landmarks,
        "S'": spec.n_tuning,
        "over": list(n_samples),
        "learned on": spec.network.max_samples,
        "seed": spec.seed,
        "data": laboratory.fingerprint,
    }


def percent(phi: Tensor, gram: Tensor, rows: np.ndarray) -> float:
    """The paper's RE over all pairs of some pictures: the mean of |a - b| / (|a| + |b|), in percent."""
    chosen = torch.from_numpy(rows.copy()).to(gram.device)
    errors = pairwise_relative_error(phi[chosen] @ phi[chosen].T, gram[chosen][:, chosen])
    return 100.0 * errors.double().mean().item()


def constant_percent(gram: Tensor, rows: np.ndarray) -> float:
    """The smallest RE, in percent, that one number in the place of all kernel values has."""
    chosen = torch.from_numpy(rows.copy()).to(gram.device)
    values = gram[chosen][:, chosen]
    sampled = values.flatten()[:: values.numel() // SAMPLED + 1]
    guesses = torch.quantile(sampled, torch.linspace(0.1, 0.9, GUESSES).to(gram))
    errors = [pairwise_relative_error(guess, values).double().mean().item() for guess in guesses]
    return 100.0 * min(errors)


def table(computed: Computed, features: str, plan: Plan, *, with_paper: bool) -> Table:
    """Over T of each size, and over the pictures outside S and S', which the paper has not.

    with_paper : whether the paper's table is about these features
    """
    constant = computed.runs(TABLE, model=CONSTANT, features=features)
    rows = [_bound(CONSTANT, constant, plan)]
    for n_landmarks in plan.n_landmarks:
        if n_landmarks in plan.free_landmarks:
            free = computed.runs(TABLE, model=FREE, features=features, S=n_landmarks)
            rows.append(_bound(f"S = {n_landmarks:,}, {FREE}", free, plan))
        for tuning, n_tuning in plan.maps(n_landmarks):
            settings = {"model": METHODS[tuning], "features": features, "S": n_landmarks, "S'": n_tuning}
            runs = computed.runs(TABLE, **settings)
            over_t = [
                Entry(
                    tuple(run["T"][str(size)] for run in runs),
                    paper.relative_error(plan.data_set, n_landmarks, n_tuning, size) if with_paper else None,
                    "lower",
                    2,
                )
                for size in plan.n_samples
            ]
            unseen = tuple(run["outside"] for run in runs if run["outside"] is not None)
            of_tuning = "" if n_tuning is None else f", S' = {n_tuning:,}"
            rows.append(
                Row(
                    f"S = {n_landmarks:,}, {METHODS[tuning]}{of_tuning}",
                    (*over_t, Entry(unseen if unseen or not runs else None, None, None, 2)),
                )
            )
    of_algorithm1 = ", one of Algorithm 1" if plan.algorithm1_landmarks else ""
    of_free = " Vectors of S numbers, fitted to these very values, say what a map to as many could reach at best."
    return Table(
        f"Relative errors, {features} features",
        "Percent, mean over all pairs of T of |a - b| / (|a| + |b|), a the inner product of two vectors and b the "
        f"kernel's value; supervised 3-layer DKN. {over_seeds(plan.seeds)}{of_algorithm1}. The first row says how "
        "much there is to approximate: RE shrinks with the spread of the kernel's values, and the paper does not say "
        f"what its own kernel has.{of_free if plan.free_landmarks else ''} An initial map "
        "gives a landmark's values exactly; moved landmarks are no pictures any more and give these up, so the last "
        "column leaves out S and S'.",
        (),
        (*(f"T = {size:,}" for size in plan.n_samples), "outside S and S'"),
        tuple(rows),
        like_for_like=False,
    )


def _bound(label: str, runs: Sequence[Figures], plan: Plan) -> Row:
    """What no map is: nothing is published beside it, and no picture is outside."""
    over_t = (Entry(tuple(run["T"][str(size)] for run in runs), None, None, 2) for size in plan.n_samples)
    return Row(label, (*over_t, Entry(None, None, None, 2)))


def beside_the_possible(computed: Computed, features: str, plan: Plan) -> list[str]:
    """What as many numbers as landmarks hold of the kernel here, beside the lowest error that is published for them."""
    told = []
    size = max(plan.n_samples)
    for n_landmarks in plan.free_landmarks:
        runs = computed.runs(TABLE, model=FREE, features=features, S=n_landmarks)
        free = Entry(tuple(run["T"][str(size)] for run in runs), None, None, 2)
        published = [paper.relative_error(plan.data_set, n_landmarks, n_tuning, size) for n_tuning in plan.n_tuning]
        lowest = min((figure for figure in published if figure is not None), default=None)
        if free.values and lowest is not None:
            told.append(
                f"Relative errors, {features} features, S = {n_landmarks:,}: vectors of as many numbers, fitted to the "
                f"values between all pictures without a map, are {free.ours_text} % off over T = {size:,}; the lowest "
                f"published is {lowest:.2f}."
            )
    return told


def loss_figure(computed: Computed, features: str, plan: Plan) -> Figure:
    """Held-out error by iteration, at the S and S' of the paper's figure or the nearest that were computed."""
    n_landmarks = min(plan.n_landmarks, key=lambda size: abs(size - LOSS_AT[0]))
    n_tuning = min(plan.n_tuning, key=lambda size: abs(size - LOSS_AT[1]))
    curves = []
    for model in list(METHODS.values())[1:]:
        settings = {"model": model, "features": features, "S": n_landmarks, "S'": n_tuning, "seed": 0}
        for run in computed.runs(TABLE, **settings):
            if len(run["curve"]) > 1:
                steps, errors = zip(*run["curve"], strict=True)
                curves.append(Curve(model, tuple(map(float, steps)), tuple(errors)))
    return Figure(
        f"Error against iterations, {features} features",
        f"Relative error on held-out pictures as tuning goes on, S = {n_landmarks:,}, S' = {n_tuning:,}, one seed; "
        "each way returns the best map that it met. The paper draws its squared loss, which has another unit.",
        "iterations",
        "relative error, %",
        tuple(curves),
    )
