"""Cells of all tables on a small collection, the tables made of them, and what is said where cells are missing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from reproduction import comparison, discrimination, honesty, methods, relative_errors, timing
from reproduction.cells import Cell, CellStore, Computed, collect, compute_missing, in_order
from reproduction.laboratory import Laboratory, MapSpec, NetworkSpec
from reproduction.report import Entry, Row
from tests.reproduction.samples import small_collection

KEYWORDS = discrimination.Grid(
    (("supervised", 2), ("supervised", 3), ("leave-one-out", 2)), (12, 20), (50,), (), (12,), 2, 60
)
ERRORS = relative_errors.Grid("corel5k", (12,), (50,), (40, 90), (), (12,), 2, 60)
TIMES = timing.Grid((20, 40), (12,), (12,), 60)
METHODS = tuple(methods.METHODS)
COMPARED = comparison.Grid(METHODS, (12,), 2)


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    pictures = small_collection(views=("a", "EfficientNet-Lite0"))
    return Laboratory(pictures, tmp_path_factory.mktemp("networks"), 4, 60)


@pytest.fixture(scope="module")
def all_cells(laboratory):
    return [
        *discrimination.cells(laboratory, "handcrafted", KEYWORDS),
        *relative_errors.cells(laboratory, "handcrafted", ERRORS),
        *timing.cells(laboratory, "handcrafted", TIMES),
        *comparison.cells(laboratory, "handcrafted", COMPARED),
    ]


@pytest.fixture(scope="module")
def computed(all_cells, tmp_path_factory):
    store = CellStore(tmp_path_factory.mktemp("cells"))
    compute_missing(all_cells, store, lambda line: None)
    return collect(all_cells, store)


def test_every_cell_has_a_name_of_its_own(all_cells):
    assert len({cell.name for cell in all_cells}) == len(all_cells)


def test_discrimination_has_a_row_for_every_model_and_all_seeds_in_it(computed):
    table = discrimination.table(computed, "handcrafted", KEYWORDS, with_paper=True)
    assert [row.label for row in table.rows] == [
        "2-layer DKN, supervised",
        "3-layer DKN, supervised",
        "2-layer DKN, leave-one-out",
        "initial DMN, S = 12",
        "fine-tuned DMN, S = 12, S' = 50",
        "initial DMN, S = 20",
        "fine-tuned DMN, S = 20, S' = 50",
        "DMN by leave-one-out, finished with keywords, S = 12, S' = 50",
    ]
    assert all(len(entry.values) == 2 for row in table.rows for entry in row.entries)
    assert table.rows[1].entries[0].paper == 37.65
    assert table.rows[0].entries[0].paper is None
    assert all(0 <= value <= 100 for row in table.rows for value in row.entries[0].values)
    beside_nothing = discrimination.table(computed, "handcrafted", KEYWORDS, with_paper=False)
    assert not any(entry.paper for row in beside_nothing.rows for entry in row.entries)


def test_learned_keywords_are_better_than_chance(computed):
    table = discrimination.table(computed, "handcrafted", KEYWORDS, with_paper=False)
    kernel = table.rows[1].entries
    assert kernel[0].mean > 85  # five of seven keywords at random find 71 %
    assert kernel[4].mean > 85


def test_relative_errors_by_loops(laboratory):
    spec = MapSpec(NetworkSpec("supervised", 3, 60, 0), 12, 0)
    figures = relative_errors.error_cell(laboratory, "x", spec, (40, 90)).compute()
    phi, gram = laboratory.map(spec).phi.astype(np.float64), laboratory.gram(spec.network).double().numpy()
    drawn = laboratory.draw(12, None, 0)

    def loop(rows):
        errors = [
            abs(phi[i] @ phi[j] - gram[i, j]) / (abs(phi[i] @ phi[j]) + abs(gram[i, j])) for i in rows for j in rows
        ]
        return 100 * np.mean(errors)

    assert figures["T"]["40"] == pytest.approx(loop(drawn.order[:40]), rel=1e-3)
    assert figures["T"]["90"] == pytest.approx(loop(range(90)), rel=1e-3)
    assert figures["outside"] == pytest.approx(loop([i for i in range(90) if i not in drawn.landmarks]), rel=1e-3)


def test_the_best_constant_by_trying_many(laboratory):
    network = NetworkSpec("supervised", 3, 60, 0)
    figures = relative_errors.constant_cell(laboratory, "x", network, (40,)).compute()
    rows = laboratory.draw(0, None, 0).order[:40]
    values = laboratory.gram(network).double().numpy()[np.ix_(rows, rows)]
    tried = [
        100 * np.mean(abs(guess - values) / (abs(guess) + abs(values)))
        for guess in np.linspace(values.min(), values.max(), 2000)
    ]
    assert min(tried) <= figures["T"]["40"] * (1 + 1e-5)
    assert figures["T"]["40"] == pytest.approx(min(tried), rel=0.05)


def test_published_figures_stand_beside_their_own_features_only(computed):
    for made in (
        relative_errors.table(computed, "handcrafted", ERRORS, with_paper=False),
        timing.picture_table(computed, "handcrafted", TIMES, with_paper=False),
    ):
        assert not any(entry.paper for row in made.rows for entry in row.entries)
    grid = relative_errors.Grid("corel5k", (500,), (2000,), (2000,), (), (), 1, 60)
    beside = relative_errors.table(computed, "nothing computed", grid, with_paper=True)
    assert beside.rows[1].entries[0].paper == 2.45


def test_where_all_pictures_are_tuned_on_none_is_outside(laboratory, tmp_path):
    grid = relative_errors.Grid("corel5k", (12,), (90,), (40,), (), (), 1, 60)
    cells, store = relative_errors.cells(laboratory, "x", grid), CellStore(tmp_path)
    label = "S = 12, fine-tuned, moved landmarks, S' = 90"

    def outside():
        rows = relative_errors.table(collect(cells, store), "x", grid, with_paper=False).rows
        return next(row for row in rows if row.label == label).entries[-1].ours_text

    assert outside() == "..."
    compute_missing(cells, store, lambda line: None)
    assert outside() == "-"


def test_a_method_with_one_head_has_no_figures_of_the_other():
    alone = discrimination.entries([{"ours": {"R": 1.0, "P": 2.0, "N+": 3, "F1": 4.0}}], {})
    assert [entry.ours_text for entry in alone] == ["-", "-", "-", "-", "1.00", "2.00", "3", "4.00"]
    assert {entry.ours_text for entry in discrimination.entries([], {})} == {"..."}


def test_where_both_values_are_zero_there_is_no_error():
    apart, half = torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 0.5]])
    assert relative_errors.percent(apart, torch.eye(2), np.arange(2)) == 0.0
    assert relative_errors.percent(apart, half, np.arange(2)) == pytest.approx(100 / 3 / 4)  # one of four pairs


def test_table_and_figure_of_errors(computed):
    table = relative_errors.table(computed, "handcrafted", ERRORS, with_paper=True)
    assert [row.label for row in table.rows][:5] == [
        relative_errors.CONSTANT,
        "S = 12, no map, vectors fitted to these values",
        "S = 12, initial",
        "S = 12, fine-tuned, moved landmarks, S' = 12",
        "S = 12, fine-tuned, moved landmarks, S' = 50",
    ]
    assert table.columns == ("T = 40", "T = 90", "outside S and S'")
    constant, free, *maps = table.rows
    assert all(len(entry.values) == 2 for row in maps for entry in row.entries)
    for bound in (constant, free):
        assert [len(entry.values or ()) for entry in bound.entries] == [2, 2, 0]
        assert bound.entries[-1].values is None  # there is no map that could go outside
        assert not any(entry.paper or entry.verdict for entry in bound.entries)
    moved = next(row for row in maps if row.label == "S = 12, fine-tuned, moved landmarks, S' = 50")
    assert free.entries[1].mean < 0.8 * moved.entries[1].mean
    figure = relative_errors.loss_figure(computed, "handcrafted", ERRORS)
    assert {curve.label for curve in figure.curves} <= set(relative_errors.METHODS.values())
    assert all(curve.x[0] == 0 and len(curve.x) == len(curve.y) for curve in figure.curves)


def test_what_is_possible_stands_beside_what_is_published(computed):
    assert relative_errors.beside_the_possible(computed, "handcrafted", ERRORS) == []  # the paper has no S = 12
    grid = relative_errors.Grid("corel5k", (500, 700), (2000, 3000), (2000, 4999), (), (500, 700), 2, 60)
    settings = {"model": relative_errors.FREE, "features": "x", "S": 500, "S'": 3000}
    runs = [({**settings, "seed": seed}, {"T": {"4999": error}}) for seed, error in enumerate((1.2, 1.4))]
    known = tuple((Cell("relative error", 1, told, dict, ()), figures) for told, figures in runs)
    (told,) = relative_errors.beside_the_possible(Computed(known, 0), "x", grid)
    assert "S = 500" in told
    assert "1.30 ± 0.14 % off over T = 4,999" in told
    assert "the lowest published is 1.12" in told


def test_algorithm_1_has_rows_where_it_is_planned_and_comes_last(laboratory):
    grid = relative_errors.Grid("corel5k", (12, 20), (50,), (40,), (12,), (), 2, 60)
    models = [cell.settings["model"] for cell in in_order(relative_errors.cells(laboratory, "x", grid))]
    assert models.count("fine-tuned, Algorithm 1") == 2  # S' = 12 and 50, one seed
    assert models[-2:] == ["fine-tuned, Algorithm 1"] * 2


def test_times_are_positive_and_in_milliseconds_beside_the_papers(computed):
    table = timing.picture_table(computed, "handcrafted", TIMES, with_paper=True)
    assert [row.label for row in table.rows] == ["DKN", "DMN, S = 12"]
    assert table.rows[0].entries[0].paper == 10_390
    assert 0 < table.rows[0].entries[0].mean < 1000
    figure = timing.growth_figure(computed, "handcrafted", TIMES)
    assert [curve.x for curve in figure.curves] == [(20.0, 40.0)] * 2


@pytest.mark.parametrize(("runs", "seconds"), [([9.0, 3.0, 1.0, 2.0], 2.0), ([90.0, 6.0], 6.0)])
def test_the_first_run_compiles_and_is_not_counted(monkeypatch, runs, seconds):
    clock, left = [0.0], list(runs)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def work():
        clock[0] += left.pop(0)

    assert timing.median_seconds(work) == seconds
    assert left == []


def test_devices_stand_beside_each_other(computed):
    elsewhere = [
        (replace(cell, settings={**cell.settings, "device": "a GPU"}), {"seconds": 1000.0})
        for cell, _ in computed.known
        if cell.device
    ]
    both = Computed((*computed.known, *elsewhere), 0)
    table = timing.picture_table(both, "handcrafted", TIMES, with_paper=True)
    assert table.columns == (f"on {timing.device_name()}", "on a GPU")
    assert all([len(entry.values) for entry in row.entries] == [1, 1] for row in table.rows)
    assert [row.entries[1].mean for row in table.rows] == [1e6, 1e6]  # milliseconds
    curves = timing.growth_figure(both, "handcrafted", TIMES).curves
    assert [curve.label for curve in curves][2:] == ["DKN, a GPU", "DMN, S = 12, a GPU"]
    assert [curve.x for curve in curves] == [(20.0, 40.0)] * 4


def test_comparison_has_our_rows_the_papers_and_the_fields(computed):
    table = comparison.table(computed, "handcrafted", COMPARED, learned=False)
    rows = {row.label: row for row in table.rows}
    assert rows[methods.NEIGHBOURS].entries[0].paper == 32  # JEC's
    assert rows[methods.TRANSDUCTIVE].entries[0].paper == 42  # wTKML's
    assert rows[methods.WORD_VECTORS].entries[0].paper is None  # CNN-R's are on learned features
    reported = rows["NSIDML (2016), as reported"].entries
    assert [entry.paper for entry in reported] == [51.8, 44.1, 194, pytest.approx(47.64, abs=0.01), *[None] * 4]
    assert {entry.ours_text for entry in reported} == {"-"}  # there is nothing to compute
    assert rows["initial DMN + SVM, S = 12"].entries[0].values
    for method in METHODS:
        assert len(rows[method].entries[-1].values) == 2  # of two seeds
        assert rows[method].entries[-1].mean > 60  # F1 with our heads
    assert rows[methods.ANNOTATE].entries[0].values is None  # it has no other head
    learned = {row.label: row for row in comparison.table(computed, "x", COMPARED, learned=True).rows}
    assert learned["supervised 3-layer DKN + SVM"].entries[0].paper == 42.6
    assert learned["supervised 3-layer DKN + SVM"].entries[0].values == ()
    assert learned[methods.WORD_VECTORS].entries[0].paper == 41.3
    for label in (methods.NEIGHBOURS, methods.TRANSDUCTIVE, comparison.SEMI_SUPERVISED):
        assert learned[label].entries[0].paper is None  # those are on handcrafted features


def test_the_best_here_stands_beside_the_fields_best(computed):
    table = comparison.table(computed, "handcrafted", COMPARED, learned=False)
    (told,) = comparison.beside_the_field(table)
    assert "NSIDML (2016)" in told  # F1 = 2 * 51.8 * 44.1 / 95.9
    assert "47.64" in told
    assert comparison.beside_the_field(comparison.table(computed, "x", COMPARED, learned=True)) == ()


def test_what_sees_the_test_pictures_does_not_stand_beside_the_field(computed):
    table = comparison.table(computed, "handcrafted", COMPARED, learned=False)

    def with_f1(row, value):
        return Row(row.label, (*row.entries[:-1], Entry((value,), None, "higher", 2)))

    seeing = [row.label for row in table.rows if "fine-tuned" in row.label or "semi" in row.label]
    seeing.append(methods.TRANSDUCTIVE)
    assert len(seeing) == 3
    rows = [with_f1(row, 99.0 if row.label in seeing else 50.0 + (row.label == methods.NYSTROEM)) for row in table.rows]
    (told,) = comparison.beside_the_field(replace(table, rows=tuple(rows)))
    assert f"51.00 ({methods.NYSTROEM})" in told
    assert "3.36 less" in told  # 51 - 47.64


def test_networks_are_needed_for_their_rows():
    assert methods.NETWORK_SVM not in methods.methods_for(("Rgb",))
    assert methods.NETWORK_SVM in methods.methods_for(("Rgb", "EfficientNet-Lite0"))


def test_examples_have_truth_and_both_answers(computed, laboratory):
    section = discrimination.examples_section(computed, laboratory.collection, "handcrafted", KEYWORDS, None)
    assert len(section.examples) == 12
    first = section.examples[0]
    assert first.name == laboratory.collection.names[60]
    assert first.truth == tuple(f"word{j}" for j in np.flatnonzero(laboratory.collection.labels[60]))
    assert [answer.method for answer in first.answers] == ["DKN", "DMN, S = 20"]
    assert all(len(answer.keywords) == 5 for answer in first.answers)
    assert discrimination.examples_section(computed, laboratory.collection, "learned", KEYWORDS, None).examples == ()


def test_missing_cells_leave_gaps_and_are_counted(all_cells, tmp_path):
    nothing = collect(all_cells, CellStore(tmp_path))
    assert nothing.n_missing == len(all_cells)
    table = discrimination.table(nothing, "handcrafted", KEYWORDS, with_paper=True)
    assert all(entry.values == () for row in table.rows for entry in row.entries)
    section = honesty.section([table], ("pictures are small",), nothing.n_missing)
    assert f"{len(all_cells)} cells are not computed yet" in section.paragraphs[0]
    assert section.points == ("What differs: pictures are small",)
