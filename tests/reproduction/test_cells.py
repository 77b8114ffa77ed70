"""Cells: computed once, found again by all that they depend on, kept through interruptions and damage."""

import json

import pytest

from gramless.errors import DataError
from reproduction.cells import Cell, CellStore, collect
from reproduction.computing import compute_missing


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
