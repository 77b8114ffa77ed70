"""Cells are computed once, found again, in an order that makes each network once, and told of."""

import json

import pytest

from gramless.errors import DataError
from reproduction import cells as cells_module
from reproduction.cells import Cell, CellStore, collect, compute_missing, in_order, seconds_left, spoken


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


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_kept(store, bad):
    cell = Cell("table", 1, {"model": "m", "seed": 3}, lambda: {"paper": {"F1": bad}})
    with pytest.raises(DataError, match="table: m, seed = 3 gave a figure that is no number"):
        compute_missing([cell], store, lambda line: None)
    assert list(store.folder.iterdir()) == []


def test_what_another_device_measured_is_collected_too(store):
    def measured(device, version=1, **settings):
        return Cell("time", version, {"model": "m", "device": device, **settings}, lambda: {"on": device})

    here, there = measured("a CPU", S=5), measured("a GPU", S=5)
    others = [measured("a GPU", S=6), measured("a GPU", version=2, S=5), Cell("time", 1, {"model": "m", "S": 5}, dict)]
    compute_missing([there, *others, counting([], 0)], store, lambda line: None)
    (store.folder / "time-damaged.json").write_text("{")
    found = collect([here], store)
    assert found.n_missing == 1
    assert found.runs("time", S=5) == found.runs("time", device="a GPU") == [{"on": "a GPU"}]
    compute_missing([here], store, lambda line: None)
    found = collect([here], store)
    assert found.n_missing == 0
    assert found.devices("time") == ["a CPU", "a GPU"]
    assert found.runs("time", device="a CPU") == [{"on": "a CPU"}]
    assert found.devices("table") == []


def test_lines_say_what_is_computed_and_what_is_left(tmp_path):
    lines = []
    cells = [Cell("table", 1, {"model": "m", "seed": n, "S": 500, "data": "secret"}, dict) for n in range(3)]
    compute_missing(cells, CellStore(tmp_path), lines.append)
    assert [line.split("]")[0] for line in lines] == ["[1 of 3", "[2 of 3", "[3 of 3"]
    assert lines[0] == "[1 of 3] table: m, seed = 0, S = 500"
    assert lines[1].endswith("(about 1 s left)")


def test_the_estimate_comes_from_cells_of_the_same_kind():
    quick, slow = Cell("a", 1, {"model": "m"}, dict), Cell("b", 1, {"model": "m"}, dict)
    unknown = Cell("c", 1, {"model": "m"}, dict)
    assert seconds_left([quick], {}) is None
    taken = {"a m None": [1.0, 3.0], "b m None": [100.0]}
    assert seconds_left([quick, slow, slow], taken) == pytest.approx(202.0)
    assert seconds_left([quick, slow, unknown], taken) == pytest.approx(102.0 * 3 / 2)
    assert seconds_left([unknown], taken) is None


def test_the_estimate_grows_with_the_work(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(cells_module.time, "perf_counter", lambda: clock[0])

    def taking(seconds):
        def compute():
            clock[0] += seconds
            return {}

        return compute

    sizes = (10, 20, 40)
    cells = [Cell("t", 1, {"T": n}, taking(n**2), work=n**2) for n in sizes]
    lines = []
    compute_missing(cells, CellStore(tmp_path), lines.append)
    assert "left" not in lines[0]
    assert lines[1].endswith("(about 33 min left)")  # 20^2 + 40^2 s
    assert lines[2].endswith("(about 27 min left)")
    continued = []
    compute_missing([*cells, Cell("t", 1, {"T": 80}, taking(1), work=80**2)], CellStore(tmp_path), continued.append)
    assert continued[0].endswith("(about 1.8 h left)")  # 80^2 s, by the cells that were known before


def test_late_cells_come_last_and_cells_made_from_the_same_together():
    def cell(name, *made_from, late=False):
        return Cell("t", 1, {"name": name}, dict, made_from, late=late)

    cells = [
        cell("a", "x", "net"),
        cell("b", "x", "net", "map 1"),
        cell("c", "x", "other", "map 1"),
        cell("slow", "x", "net", "map 1", late=True),
        cell("d", "x", "net", "map 2"),
        cell("e", "y"),
        cell("f", "x", "net", "map 1"),
        cell("g", "x", "other"),
    ]
    assert [cell.settings["name"] for cell in in_order(cells)] == ["a", "b", "f", "d", "g", "c", "e", "slow"]
    assert in_order([]) == ()


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.1, "about 1 s"), (80, "about 80 s"), (600, "about 10 min"), (7200, "about 2.0 h")]
)
def test_times_are_spoken(seconds, words):
    assert spoken(seconds) == words
