"""The comparison table: deep kernels and maps beside other methods, the paper's rows and the field's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from reproduction import discrimination, methods, paper
from reproduction.cells import Cell, Computed
from reproduction.laboratory import Laboratory
from reproduction.report import Row, Table, over_seeds

TABLE = "comparison"
VERSION = 1
COMPARED_TUNING = 3_000  # S' of the paper's comparison

SEMI_SUPERVISED = "semi-supervised 3-layer DKN (LDMKL's setting)"
INITIAL, FINE_TUNED = discrimination.MAP_MODELS[None], discrimination.MAP_MODELS["landmarks"]
SEE_TEST_PICTURES = (methods.TRANSDUCTIVE, SEMI_SUPERVISED, FINE_TUNED)
"""How the labels of rows begin whose methods see the test pictures, without their keywords."""

THEIRS = {
    methods.NETWORK_SVM: "ResNet + SVM",
    methods.WORD_VECTORS: "CNN-R",
    methods.TRANSDUCTIVE: "wTKML",
    methods.NEIGHBOURS: "JEC (2008)",
}
"""Methods here, and the rows of the paper and the field in whose setting they are."""


@dataclass(frozen=True)
class Grid:
    """Which methods are run, and the maps of the table of discrimination that are shown beside them."""

    methods: tuple[str, ...]
    n_landmarks: tuple[int, ...]
    seeds: int


def cells(laboratory: Laboratory, features: str, grid: Grid) -> list[Cell]:
    """Every method with every seed: heads at least are random, by their negatives or their folds."""
    return [method_cell(laboratory, features, method, seed) for method in grid.methods for seed in range(grid.seeds)]


def method_cell(laboratory: Laboratory, features: str, method: str, seed: int) -> Cell:
    settings = {"model": method, "features": features, "seed": seed, "data": laboratory.fingerprint}
    compute = partial(methods.METHODS[method], laboratory, seed)
    return Cell(TABLE, VERSION, settings, compute, methods.made_from(laboratory, method, seed))


def table(computed: Computed, features: str, grid: Grid, *, learned: bool) -> Table:
    """learned : whether a trained network's view is among the features, as in the lower half of the paper's table."""
    rows = [
        Row(
            method,
            discrimination.entries(computed.runs(TABLE, model=method, features=features), theirs(method, learned)),
        )
        for method in grid.methods
    ]

    def row(title: str, beside: str, **settings: Any) -> Row:
        runs = computed.runs(discrimination.TABLE, features=features, **settings)
        return Row(title, discrimination.entries(runs, _row(beside, learned)))

    semi, supervised = (discrimination.kernel_model(learning, 3) for learning in ("semi-supervised", "supervised"))
    rows.append(row(SEMI_SUPERVISED, "LDMKL", model=semi))
    rows.append(row("supervised 3-layer DKN + SVM", "3-layer DKN + SVM", model=supervised))
    for n_landmarks in grid.n_landmarks:
        for model, n_tuning in ((INITIAL, None), (FINE_TUNED, COMPARED_TUNING)):
            settings = {"model": model, "S": n_landmarks, "S'": n_tuning}
            beside = f"{model} + SVM, S={n_landmarks}"
            rows.append(row(f"{model} + SVM, S = {n_landmarks:,}", beside, **settings))
    rows += [Row(f"{row.model}, as reported", discrimination.reported(row.measures)) for row in paper.field()]
    return Table(
        f"Comparison, {features} features",
        f"Test pictures, five keywords each; R, P, F1 in percent, N+ keywords. {over_seeds(grid.seeds)}. "
        "Methods other than deep kernels are run here in the setting of the paper's row beside "
        "them: its ResNet + SVM, CNN-R (here regression to vectors from the keywords' co-occurrence), wTKML "
        "and JEC; each stands beside published figures on features of the same kind. Transductive maps, "
        "semi-supervised DKNs and fine-tuned DMNs, whose S' is drawn from all pictures, see the test pictures without "
        "their keywords. Under the paper's heads, methods without an SVM give their five best scores.",
        discrimination.GROUPS,
        discrimination.COLUMNS,
        tuple(rows),
    )


def beside_the_field(table: Table) -> tuple[str, ...]:
    """How the best F1 of our heads, by methods that do not see the test pictures, stands beside the field's best."""
    fair = [row for row in table.rows if not row.label.startswith(SEE_TEST_PICTURES)]
    ours = {row.label: row.entries[-1] for row in fair if row.entries[-1].values}
    if not ours:
        return ()
    best = max(ours, key=lambda label: ours[label].mean)
    leader = max(paper.field(), key=lambda row: row.measures["F1"])
    gap = ours[best].mean - leader.measures["F1"]
    told = (
        f"{table.title}: the best F1 of a method that does not see the test pictures is {ours[best].ours_text} "
        f"({best}); the best reported is "
        f"{leader.measures['F1']:.2f} ({leader.model}), {abs(gap):.2f} {'less' if gap > 0 else 'more'}."
    )
    return (told,)


def theirs(method: str, learned: bool) -> Mapping[str, float]:
    """The figures that a method stands beside: those on features of the same kind."""
    name = THEIRS.get(method, "")
    field = {} if learned else {row.model: row.measures for row in paper.field()}
    return field.get(name) or _row(name, learned)


def _row(model: str, learned: bool) -> Mapping[str, float]:
    found = [row.measures for row in paper.compared() if (row.model, row.learned_features) == (model, learned)]
    return found[0] if found else {}
