"""Discrimination on ImageCLEF: a concept is present where its score is positive (the paper's), or above a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramless.heads import Threshold
from gramless.metrics import mean_average_precision, mf_concepts, mf_samples
from reproduction import paper
from reproduction.cells import Cell, Computed, Figures
from reproduction.collection import Collection
from reproduction.discrimination import MAP_MODELS, label
from reproduction.keywords import Scores, hinge_on_kernel, scores_of_unseen, squared_hinge_on_map
from reproduction.laboratory import Laboratory, MapSpec, NetworkSpec
from reproduction.report import Entry, Row, Table, over_seeds
from reproduction.thresholds import learned_threshold

TABLE = "discrimination on ImageCLEF"
VERSION = 1
HEADS = {"paper": "positive scores", "ours": "learned thresholds"}
MEASURES = paper.MEASURES["imageclef"]


@dataclass(frozen=True)
class Grid:
    """Layers of the networks, S, S' and seeds."""

    n_layers: tuple[int, ...]
    n_landmarks: tuple[int, ...]
    n_tuning: tuple[int, ...]
    seeds: int


def cells(laboratory: Laboratory, grid: Grid) -> list[Cell]:
    found = []
    n_train = laboratory.collection.n_train
    for seed in range(grid.seeds):
        for n_layers in grid.n_layers:
            network = NetworkSpec("supervised", n_layers, n_train, seed)
            found.append(_cell(laboratory, network))
            if n_layers == 3:
                for n_landmarks in grid.n_landmarks:
                    found.append(_cell(laboratory, MapSpec(network, n_landmarks, seed)))
                    found += [
                        _cell(laboratory, MapSpec(network, n_landmarks, seed, "landmarks", n_tuning))
                        for n_tuning in grid.n_tuning
                    ]
    return found


def table(computed: Computed, grid: Grid) -> Table:
    rows = []
    models: list[tuple[str, int | None, int | None]] = [
        (f"{n_layers}-layer DKN", None, None) for n_layers in grid.n_layers
    ]
    for n_landmarks in grid.n_landmarks:
        models.append((MAP_MODELS[None], n_landmarks, None))
        models += [(MAP_MODELS["landmarks"], n_landmarks, n_tuning) for n_tuning in grid.n_tuning]
    for model, n_s, n_tuned in models:
        runs = computed.runs(TABLE, **{"model": model, "S": n_s, "S'": n_tuned})
        theirs = paper.discrimination_row("imageclef", model, n_s, n_tuned)
        entries = tuple(
            Entry(tuple(run[head][measure] for run in runs), theirs.get(measure), "higher", 2)
            for head in HEADS
            for measure in MEASURES
        )
        rows.append(Row(label(model, n_s, n_tuned), entries))
    return Table(
        "Discrimination on ImageCLEF",
        "One half of the development pictures for training, the other for testing; MF over samples, MF over concepts "
        f"and MAP over samples in percent. {over_seeds(grid.seeds)}. S = 1,000 is the whole "
        "development set, test pictures without their concepts included. Thresholds are learned on out-of-fold scores.",
        tuple((title, len(MEASURES)) for title in HEADS.values()),
        MEASURES * len(HEADS),
        tuple(rows),
    )


def _cell(laboratory: Laboratory, made: NetworkSpec | MapSpec) -> Cell:
    pictures = laboratory.collection

    def compute() -> Figures:
        if isinstance(made, MapSpec):
            scores = squared_hinge_on_map(laboratory.map(made).phi, pictures.labels)
        else:
            scores = hinge_on_kernel(laboratory.gram(made), pictures.labels)
        return judged(scores, pictures, made.seed)

    model = MAP_MODELS[made.tuning] if isinstance(made, MapSpec) else f"{made.n_layers}-layer DKN"
    return laboratory.cell((TABLE, VERSION), model, "ImageCLEF", made, compute)


def judged(scores: Scores, pictures: Collection, seed: int) -> Figures:
    """The measures of both ways to decide; MAP goes by scores alone, and is the same."""
    truth = pictures.labels[pictures.test]
    margins = scores(pictures.train, pictures.test)
    ranking = mean_average_precision(margins, truth, over="samples")

    def measures(chosen: np.ndarray) -> Figures:
        return {"MF-S": mf_samples(chosen, truth), "MF-C": mf_concepts(chosen, truth), "MAP": ranking}

    learned = learned_threshold(*scores_of_unseen(scores, pictures, seed))
    return {"paper": measures(Threshold().decide(margins)), "ours": measures(learned.decide(margins))}
