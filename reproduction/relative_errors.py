"""Relative errors of maps over |T| for every S and S', by Algorithm 1 and by ours (the paper's tables of RE)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gramless.maps.tuning import error_gradient, held_out_error
from gramless.metrics import pairwise_relative_error
from gramless.support.progress import ProgressBar
from reproduction import paper
from reproduction.cells import Cell, Computed, Figures
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
class Grid:
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


def cells(laboratory: Laboratory, features: str, grid: Grid) -> list[Cell]:
    """Algorithm 1 for the first seed."""
    specs = [
        MapSpec(NetworkSpec("smooth", 3, grid.max_samples, seed), n_landmarks, seed, tuning, n_tuning)
        for seed in range(grid.seeds)
        for n_landmarks in grid.n_landmarks
        for tuning, n_tuning in grid.maps(n_landmarks)
        if tuning != "algorithm1" or seed == 0
    ]
    networks = [NetworkSpec("smooth", 3, grid.max_samples, seed) for seed in range(grid.seeds)]
    starts = [
        MapSpec(network, n_landmarks, network.seed, "landmarks", max(grid.n_tuning))
        for network in networks
        for n_landmarks in grid.free_landmarks
    ]
    return [
        *(constant_cell(laboratory, features, network, grid.n_samples) for network in networks),
        *(error_cell(laboratory, features, spec, grid.n_samples) for spec in specs),
        *(free_cell(laboratory, features, start, grid.n_samples) for start in starts),
    ]


def constant_cell(laboratory: Laboratory, features: str, network: NetworkSpec, n_samples: tuple[int, ...]) -> Cell:
    """RE of the best constant: how much there is to approximate at all, which differs from kernel to kernel."""

    def compute() -> Figures:
        gram, order = laboratory.gram(network), laboratory.draw(0, None, network.seed).order
        return {"T": {str(size): constant_percent(gram, order[:size]) for size in n_samples}}

    return laboratory.cell((TABLE, VERSION), CONSTANT, features, network, compute, over=list(n_samples))


def free_cell(laboratory: Laboratory, features: str, start: MapSpec, n_samples: tuple[int, ...]) -> Cell:
    """RE of as many numbers per picture as the map has components, fitted to the values between all pictures."""

    def compute() -> Figures:
        gram, order = laboratory.gram(start.network), laboratory.draw(0, None, start.seed).order
        phi = free_vectors(torch.from_numpy(laboratory.map(start).phi).to(gram), gram)
        return {"T": {str(size): percent(phi, gram, order[:size]) for size in n_samples}}

    return laboratory.cell((TABLE, VERSION), FREE, features, start, compute, over=list(n_samples))


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

    return laboratory.cell((TABLE, VERSION), METHODS[spec.tuning], features, spec, compute, over=list(n_samples))


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


def table(computed: Computed, features: str, grid: Grid, *, with_paper: bool) -> Table:
    """Over T of each size, and over the pictures outside S and S', which the paper has not.

    with_paper : whether the paper's table is about these features
    """
    constant = computed.runs(TABLE, model=CONSTANT, features=features)
    rows = [_bound(CONSTANT, constant, grid)]
    for n_landmarks in grid.n_landmarks:
        if n_landmarks in grid.free_landmarks:
            free = computed.runs(TABLE, model=FREE, features=features, S=n_landmarks)
            rows.append(_bound(f"S = {n_landmarks:,}, {FREE}", free, grid))
        for tuning, n_tuning in grid.maps(n_landmarks):
            settings = {"model": METHODS[tuning], "features": features, "S": n_landmarks, "S'": n_tuning}
            runs = computed.runs(TABLE, **settings)
            over_t = [
                Entry(
                    tuple(run["T"][str(size)] for run in runs),
                    paper.relative_error(grid.data_set, n_landmarks, n_tuning, size) if with_paper else None,
                    "lower",
                    2,
                )
                for size in grid.n_samples
            ]
            unseen = tuple(run["outside"] for run in runs if run["outside"] is not None)
            of_tuning = "" if n_tuning is None else f", S' = {n_tuning:,}"
            rows.append(
                Row(
                    f"S = {n_landmarks:,}, {METHODS[tuning]}{of_tuning}",
                    (*over_t, Entry(unseen if unseen or not runs else None, None, None, 2)),
                )
            )
    of_algorithm1 = ", one of Algorithm 1" if grid.algorithm1_landmarks else ""
    of_free = " Vectors of S numbers, fitted to these very values, say what a map to as many could reach at best."
    return Table(
        f"Relative errors, {features} features",
        "Percent, mean over all pairs of T of |a - b| / (|a| + |b|), a the inner product of two vectors and b the "
        "kernel's value; the smooth 3-layer DKN, whose F1 is in the table of discrimination. "
        f"{over_seeds(grid.seeds)}{of_algorithm1}. The first row says how "
        "much there is to approximate: RE shrinks with the spread of the kernel's values, and the paper does not say "
        f"what its own kernel has.{of_free if grid.free_landmarks else ''} An initial map "
        "gives a landmark's values exactly; moved landmarks are no pictures any more and give these up, so the last "
        "column leaves out S and S'.",
        (),
        (*(f"T = {size:,}" for size in grid.n_samples), "outside S and S'"),
        tuple(rows),
        like_for_like=False,
    )


def _bound(label: str, runs: Sequence[Figures], grid: Grid) -> Row:
    """What no map is: nothing is published beside it, and no picture is outside."""
    over_t = (Entry(tuple(run["T"][str(size)] for run in runs), None, None, 2) for size in grid.n_samples)
    return Row(label, (*over_t, Entry(None, None, None, 2)))


def beside_the_possible(computed: Computed, features: str, grid: Grid) -> list[str]:
    """What as many numbers as landmarks hold of the kernel here, beside the lowest error that is published for them."""
    told = []
    size = max(grid.n_samples)
    for n_landmarks in grid.free_landmarks:
        runs = computed.runs(TABLE, model=FREE, features=features, S=n_landmarks)
        free = Entry(tuple(run["T"][str(size)] for run in runs), None, None, 2)
        published = [paper.relative_error(grid.data_set, n_landmarks, n_tuning, size) for n_tuning in grid.n_tuning]
        lowest = min((figure for figure in published if figure is not None), default=None)
        if free.values and lowest is not None:
            told.append(
                f"Relative errors, {features} features, S = {n_landmarks:,}: vectors of as many numbers, fitted to the "
                f"values between all pictures without a map, are {free.ours_text} % off over T = {size:,}; the lowest "
                f"published is {lowest:.2f}."
            )
    return told


def loss_figure(computed: Computed, features: str, grid: Grid) -> Figure:
    """Held-out error by iteration, at the S and S' of the paper's figure or the nearest that were computed."""
    n_landmarks = min(grid.n_landmarks, key=lambda size: abs(size - LOSS_AT[0]))
    n_tuning = min(grid.n_tuning, key=lambda size: abs(size - LOSS_AT[1]))
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


STEPS = 300
STEP_SIZE = 0.05  # of the typical entry of the start
CHECK_EVERY = 10


def free_vectors(start: Tensor, gram: Tensor) -> Tensor:
    """Vectors fitted to kernel values themselves: what so many numbers per sample can hold of a kernel, (n, d).

    A map of d components gives a vector phi(x) to whatever sample comes. Without a map, n vectors of d numbers can be
    fitted to the values between n samples and to nothing else: as far as the fit finds the best, no way of choosing or
    tuning a map of d components comes closer on those samples.

    Every vector is moved down the gradient of the relative error between different samples. The best vectors that were
    met, so never worse than the start. 300 steps of 2 n^2 d multiply-adds, and five n x n matrices of memory.
    """
    phi, best, lowest = start.clone(), start, held_out_error(start, gram)
    step_size = STEP_SIZE * start.square().mean().sqrt().item()
    optimizer = torch.optim.Adam([phi], betas=(0.9, 0.99))
    with ProgressBar("vectors without a map", STEPS) as progress:
        for step in range(STEPS):
            optimizer.param_groups[0]["lr"] = step_size * (1 - step / STEPS)
            phi.grad = error_gradient(phi, gram)
            optimizer.step()
            progress.advance()
            if (step + 1) % CHECK_EVERY == 0 and (error := held_out_error(phi, gram)) < lowest:
                best, lowest = phi.clone(), error
    return best
