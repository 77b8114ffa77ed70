"""The comparison table: deep kernels and maps beside other methods, the paper's rows and the field's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gramless.annotation.fitting import N_LANDMARKS, learn_keywords
from gramless.features import LEARNED
from gramless.report.reproduction import Row, Table, over_seeds
from gramless.reproduce import baselines, discrimination, paper
from gramless.reproduce.cells import Cell, Computed, Figures
from gramless.reproduce.classifiers import Scores, balanced_on_map, squared_hinge_on_map
from gramless.reproduce.keywords import judged, with_both_heads
from gramless.reproduce.laboratory import Laboratory, MapSpec, NetworkSpec

TABLE = "comparison"
VERSION = 1
N_COMPONENTS = 1_200  # of Nystroem's and of transductive maps: the paper's largest
COMPARED_TUNING = 3_000  # S' of the paper's comparison

NETWORK_SVM = "network features + linear SVM"
NYSTROEM = "Nystroem on the average kernel + linear SVM"
NEIGHBOURS = "JEC, nearest neighbours"
WORD_VECTORS = "network features + keyword embeddings"
TRANSDUCTIVE = "transductive maps + linear SVM"
ANNOTATE = "gramless annotate, S = 2,000"
SEMI_SUPERVISED = "semi-supervised 3-layer DKN (LDMKL's setting)"
SEE_TEST_PICTURES = (TRANSDUCTIVE, SEMI_SUPERVISED)
THEIRS = {NETWORK_SVM: "ResNet + SVM", WORD_VECTORS: "CNN-R", TRANSDUCTIVE: "wTKML", NEIGHBOURS: "JEC (2008)"}
"""Methods here, and the rows of the paper and the field in whose setting they are."""


@dataclass(frozen=True)
class Plan:
    """Which methods are run, and the maps of the table of discrimination that are shown beside them."""

    methods: tuple[str, ...]
    n_landmarks: tuple[int, ...]
    seeds: int


def cells(laboratory: Laboratory, features: str, plan: Plan) -> list[Cell]:
    """Methods without a random choice run once."""
    found = []
    for method in plan.methods:
        for seed in range(plan.seeds if method in (NYSTROEM, ANNOTATE) else 1):
            settings = {
                "model": method,
                "features": features,
                "seed": seed,
                "data": laboratory.collection.sha256,
            }
            found.append(Cell(TABLE, VERSION, settings, _computation(laboratory, method, seed)))
    return found


def methods_for(views: Sequence[str]) -> tuple[str, ...]:
    """All that can be run on views: two of them need a trained network's."""
    of_networks = (NETWORK_SVM, WORD_VECTORS) if LEARNED[0] in views else ()
    return (*of_networks, NEIGHBOURS, NYSTROEM, TRANSDUCTIVE, ANNOTATE)


def table(computed: Computed, features: str, plan: Plan, *, learned: bool) -> Table:
    """learned : whether a trained network's view is among the features, as in the lower half of the paper's table."""
    rows = [
        Row(
            method,
            discrimination.entries(computed.runs(TABLE, model=method, features=features), theirs(method, learned)),
        )
        for method in plan.methods
    ]
    semi = computed.runs(
        discrimination.TABLE, model=discrimination.kernel_model("semi-supervised", 3), features=features
    )
    rows.append(Row(SEMI_SUPERVISED, discrimination.entries(semi, _row("LDMKL", learned))))
    supervised = computed.runs(
        discrimination.TABLE, model=discrimination.kernel_model("supervised", 3), features=features
    )
    rows.append(
        Row("supervised 3-layer DKN + SVM", discrimination.entries(supervised, _row("3-layer DKN + SVM", learned)))
    )
    for n_landmarks in plan.n_landmarks:
        for model, n_tuning in (("initial DMN", None), ("fine-tuned DMN", COMPARED_TUNING)):
            settings = {"model": model, "features": features, "S": n_landmarks, "S'": n_tuning}
            runs = computed.runs(discrimination.TABLE, **settings)
            beside = _row(f"{model} + SVM, S={n_landmarks}", learned)
            rows.append(Row(f"{model} + SVM, S = {n_landmarks:,}", discrimination.entries(runs, beside)))
    rows += [Row(f"{row.model}, as reported", discrimination.reported(row.measures)) for row in paper.field()]
    return Table(
        f"Comparison, {features} features",
        f"Test pictures, five keywords each; R, P, F1 in percent, N+ keywords. {over_seeds(plan.seeds)} where "
        "something is random. Methods other than deep kernels are run here in the setting of the paper's row beside "
        "them: its ResNet + SVM, CNN-R (here regression to vectors from the keywords' co-occurrence), wTKML "
        "(transductive: it sees the test pictures without their keywords) and JEC; each stands beside published "
        "figures on features of the same kind. Under the paper's heads, methods without an SVM give their five best "
        "scores.",
        discrimination.GROUPS,
        discrimination.COLUMNS,
        tuple(rows),
    )


def beside_the_field(table: Table) -> tuple[str, ...]:
    """How the best F1 of our heads, by methods that do not see the test pictures, stands beside the field's best."""
    fair = [row for row in table.rows if row.label not in SEE_TEST_PICTURES]
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


def _computation(laboratory: Laboratory, method: str, seed: int) -> Callable[[], Figures]:
    pictures = laboratory.collection
    labels = pictures.labels

    def on_map(phi: np.ndarray) -> tuple[Scores, Scores]:
        return balanced_on_map(phi, labels, seed), squared_hinge_on_map(phi, labels)

    def scores() -> tuple[Scores, Scores]:
        average = NetworkSpec("average", 2, len(pictures), seed)
        if method == NETWORK_SVM:
            return on_map(_unit_rows(pictures.views[LEARNED[0]]))
        if method == NYSTROEM:
            return on_map(laboratory.map(MapSpec(average, min(N_COMPONENTS, pictures.n_train), seed)).phi)
        if method == TRANSDUCTIVE:
            return on_map(baselines.transductive_map(laboratory.gram(average), N_COMPONENTS))
        if method == WORD_VECTORS:
            regression = baselines.word_vector_regression(pictures.views[LEARNED[0]], labels)
            return regression, regression
        transfer = baselines.label_transfer(baselines.equal_distances(pictures.views), labels)
        return transfer, transfer

    def compute() -> Figures:
        if method == ANNOTATE:
            return {"ours": judged(_annotate(laboratory, seed), pictures)}
        return with_both_heads(*scores(), pictures, seed)

    return compute


def _annotate(laboratory: Laboratory, seed: int) -> np.ndarray:
    """The keywords that a model of `gramless annotate fit` gives."""
    pictures = laboratory.collection
    train, test = pictures.train, pictures.test
    classifier = learn_keywords(pictures.views[train], pictures.labels[train], N_LANDMARKS, seed)
    return classifier.predict(pictures.views[test]) > 0


def _unit_rows(features: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(features, axis=1, keepdims=True)
    return features / np.where(size > 0, size, 1.0)
