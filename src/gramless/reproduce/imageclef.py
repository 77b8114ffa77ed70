"""The paper's tables on ImageCLEF: from files in its layout, and at its scale on made-up features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gramless.datasets import AnnotatedViews, read_features, read_imageclef
from gramless.report.reproduction import Reproduction, Section, Table, count_verdicts
from gramless.reproduce import honesty, imageclef_discrimination, relative_errors, scale
from gramless.reproduce.cells import Cell, CellStore, collect, compute_missing
from gramless.reproduce.collection import Collection
from gramless.reproduce.laboratory import Laboratory
from gramless.views import Views

N_HIDDEN = 80
FEATURES = "ImageCLEF"
MOST_UNLABELLED = 9_000  # pictures of the web: with the development set, the 10,000 of the paper's tables
DIFFERENCES = (
    "Networks are learned by the descent of this package, on weights that sum to one.",
    "The paper does not say how the development set was cut in halves; here it is a random permutation.",
)
GENERATED_DIFFERENCES = (
    "Features are made up and no network was learned: relative errors say how maps behave as samples grow, not how "
    "they would be on ImageCLEF. Times depend on dimensions alone and compare, as far as two machines do.",
)


def open_imageclef(data: Path) -> Collection:
    """The development set, one random half for training and the other for testing, then pictures of the web.

    The latter come from files `*_train_visual_<descriptor>.feat(.gz)`, where every descriptor has one.
    """
    development = read_imageclef(data, "devel")
    order = np.random.default_rng(0).permutation(len(development.names))
    blocks = {name: _dense(development.views[name])[order] for name in development.views.names}
    web = {name: sorted(data.rglob(f"*_train_visual_{name}.feat*")) for name in blocks}
    if all(web.values()):
        unlabelled = {name: _dense(read_features(files[0])[:MOST_UNLABELLED]) for name, files in web.items()}
        blocks = {name: np.concatenate([block, unlabelled[name]]) for name, block in blocks.items()}
    return Collection(
        Views(blocks),
        development.labels[order],
        len(order) // 2,
        development.keywords,
        _names(development, order),
    )


def plan_for(pictures: Collection, seeds: int) -> imageclef_discrimination.Plan:
    """The paper's S and S', as far as there are as many pictures."""
    n_labelled, n = len(pictures.labels), len(pictures)
    n_landmarks = tuple(sorted({min(size, n_labelled) for size in (500, 1000)}))
    n_tuning = tuple(size for size in (2000, 3000, 4000) if size <= n)
    return imageclef_discrimination.Plan((2, 3), n_landmarks, n_tuning, seeds)


def errors_plan_for(pictures: Collection, seeds: int) -> relative_errors.Plan | None:
    """The paper's |T| and S', as far as there are as many pictures; None where there are too few of the web."""
    n_labelled, n = len(pictures.labels), len(pictures)
    n_samples = tuple(size for size in range(2000, 10_001, 1000) if size <= n)
    n_tuning = tuple(size for size in (1000, 2000, 3000, 4000) if size <= n)
    if not n_samples:
        return None
    n_landmarks = tuple(sorted({min(size, n_labelled) for size in (500, 1000)}))
    return relative_errors.Plan("imageclef", n_landmarks, n_tuning, n_samples, n_landmarks[:1], seeds, pictures.n_train)


GENERATED = scale.Plan((2000, 4000, 6000, 8000, 10_000, 50_000, 100_000), (500, 1000), 4000, 5000)
QUICK_GENERATED = scale.Plan((2000, 4000), (500,), 2000, 2000)


@dataclass(frozen=True, eq=False)
class Experiment:
    """Cells of the tables of discrimination, of those at scale, or of both."""

    cells: tuple[Cell, ...]
    store: CellStore
    discrimination: imageclef_discrimination.Plan | None
    errors: relative_errors.Plan | None
    at_scale: scale.Plan | None

    def run(self, tell: Callable[[str], None]) -> None:
        compute_missing(self.cells, self.store, tell)

    def report(self) -> Reproduction:
        """Of the cells that are known by now."""
        computed = collect(self.cells, self.store)
        sections: list[Section] = []
        tables: list[Table] = []
        differences: tuple[str, ...] = ()
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
        if self.at_scale is not None:
            errors, times = scale.error_table(computed, self.at_scale), scale.time_table(computed, self.at_scale)
            figures = (scale.time_figure(computed, self.at_scale),)
            told = f"{scale.MADE_UP}."
            sections.append(Section("At scale, on made-up features", (told,), tables=(errors, times), figures=figures))
            tables += [errors, times]
            differences += GENERATED_DIFFERENCES
        sections.append(honesty.section(tables, differences, computed.n_missing))
        ahead, behind = count_verdicts(tables)
        facts = (
            ("cells computed", f"{len(computed.known):,} of {len(self.cells):,}"),
            ("figures ahead of the published", f"{ahead:,}"),
            ("behind", f"{behind:,}"),
        )
        return Reproduction("ImageCLEF: the paper's tables, reproduced", facts, tuple(sections))


def plan_imageclef(pictures: Collection | None, out: Path, seeds: int, *, generated: bool, quick: bool) -> Experiment:
    """pictures : those of ImageCLEF; None for the tables on made-up features alone"""
    cells: list[Cell] = []
    judged = errors = at_scale = None
    if pictures is not None:
        judged = plan_for(pictures, 1 if quick else seeds)
        laboratory = Laboratory(pictures, out / "networks", N_HIDDEN, len(pictures.labels))
        cells += imageclef_discrimination.cells(laboratory, judged)
        errors = errors_plan_for(pictures, judged.seeds)
        if errors is not None:
            cells += relative_errors.cells(laboratory, FEATURES, errors)
    if generated:
        at_scale = QUICK_GENERATED if quick else GENERATED
        cells += scale.cells(at_scale)
    return Experiment(tuple(cells), CellStore(out / "cells"), judged, errors, at_scale)


def _dense(block: object) -> np.ndarray:
    return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float32)


def _names(development: AnnotatedViews, order: np.ndarray) -> tuple[str, ...]:
    return tuple(development.names[i] for i in order)
