"""Discrimination: how good the keywords of kernels and maps are (the paper's tables of discrimination power)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gramless.pictures.features import PictureError, make_thumbnail
from gramless.pictures.features.pictures import data_uri
from reproduction import paper
from reproduction.cells import Cell, Computed, Figures
from reproduction.collection import Collection
from reproduction.keywords import balanced_on_kernel, example_rows, hinge_on_kernel, on_vectors, with_both_heads
from reproduction.laboratory import Laboratory, Learning, MapSpec, NetworkSpec, Tuning
from reproduction.report import Answer, Entry, Example, Row, Section, Table, over_seeds

TABLE = "discrimination"
VERSION = 2
HEADS = {"paper": "the paper's heads", "ours": "our heads"}
DIGITS = {"R": 2, "P": 2, "N+": 0, "F1": 2}
GROUPS = tuple((title, len(paper.MEASURES["corel5k"])) for title in HEADS.values())
COLUMNS = paper.MEASURES["corel5k"] * len(HEADS)
MAP_MODELS: dict[Tuning | None, str] = {
    None: "initial DMN",
    "landmarks": "fine-tuned DMN",
    "keywords": "DMN by leave-one-out, finished with keywords",
    "algorithm1": "fine-tuned DMN, Algorithm 1",
}


@dataclass(frozen=True)
class Grid:
    """Which cells there are: networks by learning and layers, S, S' and seeds; Algorithm 1 with the first seed.

    finished_landmarks : S of the maps that this package makes by default, of the kernel learned by leave-one-out
    """

    networks: tuple[tuple[Learning, int], ...]
    n_landmarks: tuple[int, ...]
    n_tuning: tuple[int, ...]
    algorithm1_landmarks: tuple[int, ...]
    finished_landmarks: tuple[int, ...]
    seeds: int
    max_samples: int


def kernel_model(learning: Learning, n_layers: int) -> str:
    return f"{n_layers}-layer DKN, {learning}"


def cells(laboratory: Laboratory, features: str, grid: Grid) -> list[Cell]:
    """Of kernels, and of the maps of one of them; Algorithm 1 for the first seed."""
    found = []
    for seed in range(grid.seeds):
        for learning, n_layers in grid.networks:
            network = NetworkSpec(learning, n_layers, grid.max_samples, seed)
            found.append(kernel_cell(laboratory, features, network))
            if learning == "leave-one-out":
                found += [
                    map_cell(laboratory, features, MapSpec(network, n_landmarks, seed, "keywords", max(grid.n_tuning)))
                    for n_landmarks in grid.finished_landmarks
                ]
        smooth = NetworkSpec("smooth", 3, grid.max_samples, seed)
        for n_landmarks in grid.n_landmarks:
            found.append(map_cell(laboratory, features, MapSpec(smooth, n_landmarks, seed)))
            found += [
                map_cell(laboratory, features, MapSpec(smooth, n_landmarks, seed, "landmarks", n_tuning))
                for n_tuning in grid.n_tuning
            ]
    first = NetworkSpec("smooth", 3, grid.max_samples, 0)
    return found + [
        map_cell(laboratory, features, MapSpec(first, n_landmarks, 0, "algorithm1", n_tuning))
        for n_landmarks in grid.algorithm1_landmarks
        for n_tuning in grid.n_tuning
    ]


def kernel_cell(laboratory: Laboratory, features: str, network: NetworkSpec) -> Cell:
    def compute() -> Figures:
        pictures, gram = laboratory.collection, laboratory.gram(network)
        paper_scores = balanced_on_kernel(gram, pictures.labels, network.seed)
        our_scores = hinge_on_kernel(gram, pictures.labels)
        return with_both_heads(paper_scores, our_scores, pictures, network.seed)

    model = kernel_model(network.learning, network.n_layers)
    return laboratory.cell((TABLE, VERSION), model, features, network, compute)


def map_cell(laboratory: Laboratory, features: str, spec: MapSpec) -> Cell:
    def compute() -> Figures:
        made = laboratory.map(spec)
        return on_vectors(made.phi, laboratory.collection, spec.seed, made.unshaped)

    return laboratory.cell((TABLE, VERSION), MAP_MODELS[spec.tuning], features, spec, compute)


def table(computed: Computed, features: str, grid: Grid, *, with_paper: bool) -> Table:
    """Ours beside the paper's, with its heads and with ours.

    with_paper : whether the paper's table is about these features; its numbers are for handcrafted ones
    """
    lines: list[tuple[str, int | None, int | None]] = [
        (kernel_model(learning, n_layers), None, None) for learning, n_layers in grid.networks
    ]
    for n_landmarks in grid.n_landmarks:
        lines.append((MAP_MODELS[None], n_landmarks, None))
        lines += [(MAP_MODELS["landmarks"], n_landmarks, n_tuning) for n_tuning in grid.n_tuning]
        if n_landmarks in grid.algorithm1_landmarks:
            lines += [(MAP_MODELS["algorithm1"], n_landmarks, n_tuning) for n_tuning in grid.n_tuning]
    lines += [(MAP_MODELS["keywords"], n_landmarks, max(grid.n_tuning)) for n_landmarks in grid.finished_landmarks]
    rows = []
    for model, n_s, n_tuned in lines:
        runs = computed.runs(TABLE, **{"model": model, "features": features, "S": n_s, "S'": n_tuned})
        theirs = paper_measures(model, n_s, n_tuned) if with_paper else {}
        rows.append(Row(label(model, n_s, n_tuned), entries(runs, theirs)))
    of_algorithm1 = ", one of Algorithm 1" if grid.algorithm1_landmarks else ""
    return Table(
        f"Discrimination, {features} features",
        f"Test pictures, five keywords each: mean recall R, precision P and F1 over keywords in percent, N+ keywords "
        f"that were found at all. {over_seeds(grid.seeds)}{of_algorithm1}. The paper's heads are ensembles of "
        "SVMs on as many negatives as positives, five best scores; ours are calibrated SVMs, the five keywords with "
        "the largest gains. DMNs are those of the smooth 3-layer DKN, fine-tuned by moving their landmarks, "
        "without keywords, if the row does not say Algorithm 1; those by leave-one-out are what this package makes by "
        "default, of its own kernels, with a last few steps on the keywords of the training pictures. "
        "Semi-supervised DKNs and fine-tuned DMNs see the test pictures without their keywords, as the paper's do: S' "
        "is drawn from all pictures. The paper's 3-layer DKN of this table is semi-supervised.",
        GROUPS,
        COLUMNS,
        tuple(rows),
    )


def entries(runs: Sequence[Figures], theirs: Mapping[str, float]) -> tuple[Entry, ...]:
    """With the paper's heads and with ours, each beside the paper's figures; some methods have but one of them."""
    return tuple(
        Entry(
            None if runs and head not in runs[0] else tuple(run[head][measure] for run in runs),
            theirs.get(measure),
            "higher",
            DIGITS[measure],
        )
        for head in HEADS
        for measure in paper.MEASURES["corel5k"]
    )


def reported(theirs: Mapping[str, float]) -> tuple[Entry, ...]:
    """Published figures alone, under the paper's heads; there is nothing to compute."""
    measures = paper.MEASURES["corel5k"]
    alone = [Entry(None, theirs.get(measure), None, DIGITS[measure]) for measure in measures]
    return (*alone, *(Entry(None, None, None, DIGITS[measure]) for measure in measures))


def paper_measures(model: str, n_landmarks: int | None, n_tuning: int | None) -> Mapping[str, float]:
    """The row of the paper's table that a model of ours stands beside."""
    name = "3-layer DKN" if model.startswith("3-layer DKN") else model.removesuffix(", Algorithm 1")
    return paper.discrimination_row("corel5k", name, n_landmarks, n_tuning)


def label(model: str, n_landmarks: int | None, n_tuning: int | None) -> str:
    sizes = (("S", n_landmarks), ("S'", n_tuning))
    return model + "".join(f", {name} = {size:,}" for name, size in sizes if size is not None)


THUMBNAIL_SIDE = 320


def examples_section(
    computed: Computed, pictures: Collection, features: str, grid: Grid, images: Path | None
) -> Section:
    """Pictures with their true keywords, the DKN's and the DMN's (the paper's figure of annotated examples).

    images : the folder that the names of pictures are in; None where it is not on this machine
    """
    n_landmarks = max(grid.n_landmarks)
    kernel = computed.runs(TABLE, model=kernel_model("supervised", 3), features=features, seed=0)
    sizes = {"S": n_landmarks, "S'": max(grid.n_tuning)}
    fine_tuned = computed.runs(TABLE, model=MAP_MODELS["landmarks"], features=features, seed=0, **sizes)
    found = []
    for row in example_rows(len(pictures.test)):
        position = pictures.n_train + row
        answers = tuple(
            Answer(method, tuple(runs[0]["ours"]["examples"][str(row)]))
            for method, runs in (("DKN", kernel), (f"DMN, S = {n_landmarks:,}", fine_tuned))
            if runs
        )
        truth = tuple(itertools.compress(pictures.keywords, pictures.labels[position]))
        name = pictures.names[position]
        found.append(Example(name, _thumbnail(images, name), truth, answers))
    told = f"Test pictures, evenly spread over all; {features} features, our heads, one seed. * marks right keywords."
    return Section("Annotated examples", (told,), examples=tuple(found) if kernel or fine_tuned else ())


def _thumbnail(images: Path | None, name: str) -> str:
    if images is None:
        return ""
    try:
        return data_uri(make_thumbnail(images / name, THUMBNAIL_SIDE))
    except PictureError:
        return ""
