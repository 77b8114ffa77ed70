"""The paper's tables on ImageCLEF: from files in its layout, and at its scale on made-up features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reproduction import honesty, imageclef_discrimination, relative_errors, scale
from reproduction.cells import Cell, CellStore, collect, compute_missing
from reproduction.collection import Collection
from reproduction.laboratory import Laboratory
from reproduction.report import Reproduction, Section, Table

N_HIDDEN = 80
FEATURES = "ImageCLEF"
DIFFERENCES = (
    "Networks are learned by the descent of this package, on weights that sum to one.",
    "The paper does not say how the development set was cut in halves; here it is a random permutation.",
)
GENERATED_DIFFERENCES = (
    "Features are made up and no network was learned: relative errors say how maps behave as samples grow, not how "
    "they would be on ImageCLEF. Times depend on dimensions alone and compare, as far as two machines do.",
)


def grid_for(pictures: Collection, seeds: int, *, quick: bool) -> imageclef_discrimination.Grid:
    """The paper's S and S', as far as there are as many pictures; quick: one of each, one network and one seed."""
    n_landmarks, n_tuning = _sizes(pictures, (2000, 3000, 4000))
    if quick:
        return imageclef_discrimination.Grid((3,), n_landmarks[:1], n_tuning[:1], 1)
    return imageclef_discrimination.Grid((2, 3), n_landmarks, n_tuning, seeds)


def errors_grid_for(pictures: Collection, seeds: int, *, quick: bool) -> relative_errors.Grid | None:
    """The paper's |T| and S', as far as there are as many pictures; None where there are too few of the web."""
    n_samples = tuple(size for size in range(2000, 10_001, 1000) if size <= len(pictures))
    if not n_samples:
        return None
    n_landmarks, n_tuning = _sizes(pictures, (1000, 2000, 3000, 4000))
    slow = n_landmarks[:1]  # of Algorithm 1 and of free vectors
    if quick:
        n_landmarks, n_tuning, n_samples, slow, seeds = n_landmarks[:1], n_tuning[1:2], n_samples[:1], (), 1
    return relative_errors.Grid("imageclef", n_landmarks, n_tuning, n_samples, slow, slow, seeds, pictures.n_train)


def _sizes(pictures: Collection, n_tuning: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """S up to the development set, and S' up to all pictures."""
    n_landmarks = tuple(sorted({min(size, len(pictures.labels)) for size in (500, 1000)}))
    return n_landmarks, tuple(size for size in n_tuning if size <= len(pictures))


GENERATED = scale.Grid((2000, 4000, 6000, 8000, 10_000, 50_000, 100_000), (500, 1000), 4000, 5000)
QUICK_GENERATED = scale.Grid((2000, 4000), (500,), 2000, 2000)


@dataclass(frozen=True, eq=False)
class Experiment:
    """Cells of the tables of discrimination, of those at scale, or of both."""

    cells: tuple[Cell, ...]
    store: CellStore
    discrimination: imageclef_discrimination.Grid | None
    errors: relative_errors.Grid | None
    at_scale: scale.Grid | None

    def run(self, tell: Callable[[str], None]) -> None:
        compute_missing(self.cells, self.store, tell)

    def report(self) -> Reproduction:
        """Of the cells that are known by now."""
        computed = collect(self.cells, self.store)
        sections: list[Section] = []
        tables: list[Table] = []
        differences: tuple[str, ...] = ()
        remarks: list[str] = []
        if self.discrimination is not None:
            found = imageclef_discrimination.table(computed, self.discrimination)
            sections.append(Section("Discrimination", tables=(found,)))
            tables.append(found)
            differences += DIFFERENCES
        if self.errors is not None:
            found = relative_errors.table(computed, FEATURES, self.errors, with_paper=True)
            figure = relative_errors.loss_figure(computed, FEATURES, self.errors)
            sections.append(Section("Relative errors", tables=(found,), figures=(figure,)))
            tables.append(found)
            remarks += relative_errors.beside_the_possible(computed, FEATURES, self.errors)
        if self.at_scale is not None:
            errors, times = scale.error_table(computed, self.at_scale), scale.time_table(computed, self.at_scale)
            figures = (scale.time_figure(computed, self.at_scale),)
            told = f"{scale.MADE_UP}."
            sections.append(Section("At scale, on made-up features", (told,), tables=(errors, times), figures=figures))
            tables += [errors, times]
            differences += GENERATED_DIFFERENCES
        sections.append(honesty.section(tables, differences, computed.n_missing, remarks))
        facts = honesty.facts(tables, len(self.cells), computed.n_missing)
        return Reproduction("ImageCLEF: the paper's tables, reproduced", facts, tuple(sections))


def plan_imageclef(pictures: Collection | None, out: Path, seeds: int, *, generated: bool, quick: bool) -> Experiment:
    """pictures : those of ImageCLEF; None for the tables on made-up features alone"""
    cells: list[Cell] = []
    judged = errors = at_scale = None
    if pictures is not None:
        judged = grid_for(pictures, seeds, quick=quick)
        laboratory = Laboratory(pictures, out / "networks", N_HIDDEN, len(pictures.labels))
        cells += imageclef_discrimination.cells(laboratory, judged)
        errors = errors_grid_for(pictures, seeds, quick=quick)
        if errors is not None:
            cells += relative_errors.cells(laboratory, FEATURES, errors)
    if generated:
        at_scale = QUICK_GENERATED if quick else GENERATED
        cells += scale.cells(at_scale)
    return Experiment(tuple(cells), CellStore(out / "cells"), judged, errors, at_scale)
