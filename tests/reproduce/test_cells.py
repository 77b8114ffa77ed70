"""Cells: computed once, found again by all that they depend on, kept through interruptions and damage."""

import json

import pytest

from gramless.reproduce.cells import Cell, CellStore, collect, compute_missing, seconds_left, spoken


def counting(calls, number, **settings):
    def compute():
        calls.append(number)
        return {"number": number}

    return Cell("table", 1, {"model": "m", "seed": number, **settings}, compute)


@pytest.fixture
def store(tmp_path):
    return CellStore(tmp_path / "cells")


def test_a_cell_is_computed_once(store):
    calls = []
    cells = [counting(calls, 0), counting(calls, 1)]
    compute_missing(cells, store, lambda line: None)
    compute_missing(cells, CellStore(store.folder), lambda line: None)
    assert calls == [0, 1]
    computed = collect(cells, store)
    assert computed.n_missing == 0
    assert computed.runs("table", model="m") == [{"number": 0}, {"number": 1}]
    assert computed.runs("table", seed=1) == [{"number": 1}]
    assert computed.runs("other") == []


@pytest.mark.parametrize(
    ("table", "version", "settings"),
    [("other", 1, {"seed": 0}), ("table", 2, {"seed": 0}), ("table", 1, {"seed": 1}), ("table", 1, {"data": "x"})],
)
def test_whatever_a_cell_depends_on_is_in_its_name(table, version, settings):
    assert Cell(table, version, settings, dict).name != Cell("table", 1, {"seed": 0}, dict).name


def test_the_order_of_settings_does_not_matter():
    assert Cell("t", 1, {"a": 1, "b": 2}, dict).name == Cell("t", 1, {"b": 2, "a": 1}, dict).name


def test_an_interrupted_run_continues_with_the_cell_that_it_was_at(store):
    calls = []

    def interrupt():
        raise KeyboardInterrupt

    first, last = counting(calls, 0), counting(calls, 2)
    stopped = Cell("table", 1, {"model": "m", "seed": 1}, interrupt)
    with pytest.raises(KeyboardInterrupt):
        compute_missing([first, stopped, last], store, lambda line: None)
    assert collect([first, stopped, last], store).n_missing == 2
    compute_missing([first, counting(calls, 1), last], store, lambda line: None)
    assert calls == [0, 1, 2]
    assert not [path for path in store.folder.iterdir() if path.suffix != ".json"]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"figures": {}}', '{"figures": 1, "seconds": null}'])
def test_a_damaged_file_is_computed_again(store, damage):
    calls = []
    cell = counting(calls, 0)
    compute_missing([cell], store, lambda line: None)
    (path,) = store.folder.iterdir()
    path.write_text(damage)
    compute_missing([cell], store, lambda line: None)
    assert calls == [0, 0]
    assert json.loads(path.read_text())["figures"] == {"number": 0}


def test_lines_say_what_is_computed_and_what_is_left(store):
    lines = []
    compute_missing([counting([], n, S=500, data="secret") for n in range(3)], store, lines.append)
    assert [line.split("]")[0] for line in lines] == ["[1 of 3", "[2 of 3", "[3 of 3"]
    assert lines[0] == "[1 of 3] table: m, seed = 0, S = 500"
    assert lines[1].endswith("(about 1 s left)")


def test_the_estimate_comes_from_cells_of_the_same_kind():
    quick, slow = Cell("a", 1, {"model": "m"}, dict), Cell("b", 1, {"model": "m"}, dict)
    unknown = Cell("c", 1, {"model": "m"}, dict)
    assert seconds_left([quick], {}) is None
    taken = {"a m None": [1.0, 3.0], "b m None": [100.0]}
    assert seconds_left([quick, slow, slow], taken) == pytest.approx(202.0)
    assert seconds_left([unknown], taken) == pytest.approx(104 / 3)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.1, "about 1 s"), (80, "about 80 s"), (600, "about 10 min"), (7200, "about 2.0 h")]
)
def test_times_are_spoken(seconds, words):
    assert spoken(seconds) == words
