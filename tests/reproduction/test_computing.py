"""Cells in an order that makes each network once, and what is said while they are computed."""

import pytest

from reproduction import computing
from reproduction.cells import Cell, CellStore
from reproduction.computing import compute_missing, in_order, seconds_left, spoken


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
    monkeypatch.setattr(computing.time, "perf_counter", lambda: clock[0])

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
