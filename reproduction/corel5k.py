"""All tables and figures of the paper on COREL5k: which cells there are, and the report of those that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gramless import DataError
from gramless.pictures.datasets import read_corel5k
from gramless.pictures.features import HANDCRAFTED, FeatureCache
from reproduction import comparison, discrimination, honesty, methods, relative_errors, timing
from reproduction.cells import Cell, CellStore, Computed, collect, compute_missing
from reproduction.collection import (
    Collection,
    check_same,
    describe_corel5k,
    holds_views,
    load_collection,
    save_collection,
)
from reproduction.laboratory import Laboratory, Learning
from reproduction.report import Reproduction, Section, Table

FeatureSet = Literal["handcrafted", "learned"]
VIEWS: dict[str, tuple[str, ...]] = {"handcrafted": HANDCRAFTED, "learned": (*HANDCRAFTED, methods.NETWORK)}
"""With learned features the paper's networks have both kinds of views."""

N_HIDDEN = 120
ALL = 5_000  # more than there are pictures
QUICK_SAMPLES = 1_000
QUICK_METHODS = methods.NEED_A_NETWORK


@dataclass(frozen=True)
class Grids:
    """What is computed for one set of features."""

    discrimination: discrimination.Grid
    errors: relative_errors.Grid
    timing: timing.Grid
    comparison: comparison.Grid


def full_grids(features: FeatureSet, seeds: int, *, algorithm1: bool) -> Grids:
    """Every table; Algorithm 1 at the S of the paper's tables, for one set of features."""
    slow = (500, 700) if algorithm1 else ()
    n_landmarks, n_tuning = (500, 700, 1000, 1200, 2000), (2000, 3000, 4000, 4999)
    networks: tuple[tuple[Learning, int], ...] = (
        ("supervised", 2),
        ("semi-supervised", 2),
        ("semi-supervised", 3),
        ("supervised", 3),
        ("smooth", 3),
        ("leave-one-out", 2),
    )
    return Grids(
        discrimination.Grid(networks, n_landmarks, n_tuning, slow, (500, 700, 1200, 2000), seeds, ALL),
        relative_errors.Grid("corel5k", n_landmarks, (1000, *n_tuning), n_tuning, slow, (500, 700), seeds, ALL),
        timing.Grid((1000, 2000, 3000, 4000, 4999), (500, 700), (500, 700, 1000, 1200), ALL),
        comparison.Grid(methods.methods_for(VIEWS[features]), (700, 1000, 1200), seeds),
    )


def quick_grids(features: FeatureSet) -> Grids:
    """In minutes: one seed, one S and S', networks learned on 1,000 pictures, the quickest of the other methods."""
    chosen = tuple(method for method in methods.methods_for(VIEWS[features]) if method in QUICK_METHODS)
    networks: tuple[tuple[Learning, int], ...] = (("supervised", 3), ("smooth", 3), ("leave-one-out", 2))
    return Grids(
        discrimination.Grid(networks, (500,), (3000,), (), (500,), 1, QUICK_SAMPLES),
        relative_errors.Grid("corel5k", (500,), (3000,), (2000, 3000, 4000, 4999), (), (), 1, QUICK_SAMPLES),
        timing.Grid((500, 1000, 2000), (500,), (500,), QUICK_SAMPLES),
        comparison.Grid(chosen, (500,), 1),
    )


def check_source(data: Path | None, out: Path, sets: Sequence[FeatureSet]) -> None:
    """Refuse what open_corel5k could not read, before anything is written."""
    folder = out / "features"
    if not holds_views(folder, _views(sets)):
        pictures = _given(data, folder)
        read_corel5k(pictures, "train")
        read_corel5k(pictures, "test")


def open_corel5k(data: Path | None, out: Path, sets: Sequence[FeatureSet], cache: FeatureCache | None) -> Collection:
    """The described pictures, from OUT/features or, the first time, from the folder of COREL5k."""
    folder = out / "features"
    found = load_collection(folder, _views(sets))
    if found is not None:
        if data is not None:
            check_same(found, folder, data)
        return found
    described = describe_corel5k(_given(data, folder), _views(sets), cache)
    save_collection(described, folder)
    return described


@dataclass(frozen=True, eq=False)
class Experiment:
    """All cells of a run, and the grids that they follow."""

    pictures: Collection
    grids: dict[FeatureSet, Grids]
    cells: tuple[Cell, ...]
    store: CellStore
    quick: bool

    def run(self, tell: Callable[[str], None]) -> None:
        compute_missing(self.cells, self.store, tell)

    def report(self, images: Path | None) -> Reproduction:
        """Of the cells that are known by now."""
        computed = collect(self.cells, self.store)
        return _report(computed, self, images)


def plan_corel5k(pictures: Collection, out: Path, sets: Sequence[FeatureSet], seeds: int, *, quick: bool) -> Experiment:
    """Algorithm 1 runs for the first set of features alone."""
    grids: dict[FeatureSet, Grids] = {
        features: quick_grids(features) if quick else full_grids(features, seeds, algorithm1=features == sets[0])
        for features in sets
    }
    cells: list[Cell] = []
    for features, chosen in grids.items():
        described = pictures.with_views(VIEWS[features])
        laboratory = Laboratory(described, out / "networks", N_HIDDEN, pictures.n_train)
        cells += discrimination.cells(laboratory, features, chosen.discrimination)
        cells += relative_errors.cells(laboratory, features, chosen.errors)
        cells += timing.cells(laboratory, features, chosen.timing)
        cells += comparison.cells(laboratory, features, chosen.comparison)
    return Experiment(pictures, grids, tuple(cells), CellStore(out / "cells"), quick)


def _report(computed: Computed, experiment: Experiment, images: Path | None) -> Reproduction:
    sections: list[Section] = []
    tables: list[Table] = []
    remarks = ["Rows that stand in a table of discrimination and in one of comparison count in both."]
    last: FeatureSet = "handcrafted"
    for features, grids in experiment.grids.items():
        last = features
        with_paper = features == "handcrafted"  # learned ones are in the paper's comparison alone
        found = (
            discrimination.table(computed, features, grids.discrimination, with_paper=with_paper),
            relative_errors.table(computed, features, grids.errors, with_paper=with_paper),
            timing.picture_table(computed, features, grids.timing, with_paper=with_paper),
            comparison.table(computed, features, grids.comparison, learned=features == "learned"),
        )
        figures = (
            relative_errors.loss_figure(computed, features, grids.errors),
            timing.growth_figure(computed, features, grids.timing),
        )
        tables += found
        if with_paper:
            remarks += relative_errors.beside_the_possible(computed, features, grids.errors)
        remarks += comparison.beside_the_field(found[-1])
        told = _about(features)
        sections.append(Section(f"{features.capitalize()} features", (told,), tables=found, figures=figures))
    sections.append(
        discrimination.examples_section(
            computed, experiment.pictures, last, experiment.grids[last].discrimination, images
        )
    )
    sections.append(honesty.section(tables, honesty.COREL5K_DIFFERENCES, computed.n_missing, remarks))
    facts = [
        ("pictures", f"{len(experiment.pictures):,}"),
        ("keywords", f"{len(experiment.pictures.keywords):,}"),
        *honesty.facts(tables, len(experiment.cells), computed.n_missing),
    ]
    if experiment.quick:
        facts.append(("quick run", f"one seed, networks learned on {QUICK_SAMPLES:,} pictures, one S and S'"))
    return Reproduction("COREL5k: the paper's tables, reproduced", tuple(facts), tuple(sections))


def _views(sets: Sequence[FeatureSet]) -> tuple[str, ...]:
    return VIEWS["learned" if "learned" in sets else "handcrafted"]


def _given(data: Path | None, folder: Path) -> Path:
    if data is None:
        raise DataError(
            f"{folder} does not hold the features of COREL5k as they are made today, so --data must say where its "
            "pictures are."
        )
    return data


def _about(features: FeatureSet) -> str:
    if features == "handcrafted":
        return "Fifteen handcrafted views, four kernels on each (linear, polynomial, Gaussian, intersection)."
    return "The fifteen handcrafted views and EfficientNet-Lite0, four kernels on each."
