"""`python -m reproduction` as a user meets it: from pictures to a report, interrupted and continued."""

import itertools
import json
import sys

import pytest
from typer.testing import CliRunner

from gramless.errors import DataError
from gramless.pictures.features import workers
from gramless.support.packages import MissingPackageError
from reproduction import (
    comparison,
    corel5k,
    discrimination,
    imageclef,
    methods,
    relative_errors,
    scale,
    timing,
)
from reproduction.__main__ import app
from reproduction.cells import in_order
from tests.reproduction.samples import small_collection, write_corel5k

VIEWS = ("Rgb", "Gist")


@pytest.fixture
def small(monkeypatch):
    """Two views, grids that fit two dozen pictures, and no other process."""
    monkeypatch.setattr(workers, "FEW", 100)
    monkeypatch.setitem(corel5k.VIEWS, "handcrafted", VIEWS)
    grids = corel5k.Grids(
        discrimination.Grid((("supervised", 3), ("leave-one-out", 2)), (8,), (20,), (), (8,), 1, 24),
        relative_errors.Grid("corel5k", (8,), (20,), (30,), (), (8,), 1, 24),
        timing.Grid((10,), (8,), (8,), 24),
        comparison.Grid((methods.NEIGHBOURS,), (8,), 1),
    )
    monkeypatch.setattr(corel5k, "quick_grids", lambda features: grids)


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_from_pictures_to_a_report_and_again_without_them(small, tmp_path):
    data, out = tmp_path / "data", tmp_path / "new" / "out"
    data.mkdir()
    write_corel5k(data)
    options = ("--out", out, "--features", "handcrafted", "--quick")
    done = call("corel5k", "--data", data, *options)
    assert done.exit_code == 0, done.output
    assert {path.name for path in out.iterdir()} == {
        "cache",
        "cells",
        "features",
        "networks",
        "report.html",
        "report.json",
        "report.md",
    }
    report = json.loads((out / "report.json").read_text())
    assert [section["title"] for section in report["sections"]] == [
        "Handcrafted features",
        "Annotated examples",
        "Where this is behind, and what differs",
    ]
    assert (
        dict(report["facts"])["cells computed"].split(" of ")[0] == dict(report["facts"])["cells computed"].split()[-1]
    )
    page = (out / "report.html").read_text()
    assert page.count("data:image/jpeg") == 8
    again = call("corel5k", *options)
    assert again.exit_code == 0, again.output
    assert "[1 of" not in again.output
    assert "data:image/jpeg" not in (out / "report.html").read_text()


def test_ctrl_c_writes_what_is_known_and_the_next_run_continues(small, tmp_path, monkeypatch):
    write_corel5k(tmp_path)
    out = tmp_path / "out"
    options = ("corel5k", "--data", tmp_path, "--out", out, "--features", "handcrafted", "--quick")
    with monkeypatch.context() as interrupted:

        def interrupt(*_):
            raise KeyboardInterrupt

        interrupted.setattr(relative_errors, "percent", interrupt)
        stopped = call(*options)
    assert stopped.exit_code == 130
    assert "the same command continues" in stopped.output
    known = len(list((out / "cells").iterdir()))
    assert known >= 3
    assert f"{known} of" in (out / "report.md").read_text()
    assert "are not computed yet" in (out / "report.html").read_text()
    done = call(*options)
    assert done.exit_code == 0, done.output
    assert "are not computed yet" not in (out / "report.html").read_text()


def test_kept_features_of_another_data_set_are_refused(small, tmp_path):
    data, other, out = tmp_path / "data", tmp_path / "other", tmp_path / "out"
    for folder, n_test in ((data, 8), (other, 7)):
        folder.mkdir()
        write_corel5k(folder, n_test=n_test)
    options = ("--out", out, "--features", "handcrafted", "--quick")
    assert call("corel5k", "--data", data, *options).exit_code == 0
    done = call("corel5k", "--data", other, *options)
    assert isinstance(done.exception, DataError)
    assert str(other) in str(done.exception)


@pytest.mark.parametrize("command", [("corel5k",), ("imageclef", "--generated")])
def test_what_the_report_needs_is_asked_for_before_anything_is_computed(tmp_path, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = call(*command, "--out", tmp_path / "out")
    assert isinstance(done.exception, MissingPackageError)
    assert not (tmp_path / "out").exists()


def test_features_or_pictures_are_needed(small, tmp_path):
    out = tmp_path / "out"
    done = call("corel5k", "--out", out, "--features", "handcrafted")
    assert isinstance(done.exception, DataError)
    assert "--data must say where its pictures are" in str(done.exception)
    assert not out.exists()


@pytest.mark.parametrize("command", ["corel5k", "imageclef"])
def test_a_wrong_folder_leaves_nothing_behind(tmp_path, command):
    wrong, out = tmp_path / "wrong", tmp_path / "out"
    wrong.mkdir()
    done = call(command, "--data", wrong, "--out", out)
    assert isinstance(done.exception, DataError)
    assert str(wrong) in str(done.exception)
    assert not out.exists()


def test_a_split_without_its_pictures_leaves_nothing_behind(small, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    write_corel5k(data)
    next((data / "images").rglob("*.jpeg")).unlink()
    done = call("corel5k", "--data", data, "--out", out, "--quick")
    assert "pictures are missing" in str(done.exception)
    assert not out.exists()


def test_imageclef_at_scale(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "WIDTHS", (6, 9))
    monkeypatch.setattr(imageclef, "QUICK_GENERATED", scale.Grid((60,), (10,), 40, 80))
    done = call("imageclef", "--out", tmp_path, "--generated", "--quick")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text()
    assert page.count("MADE-UP FEATURES") >= 4  # of the section, both tables and the figure


def test_imageclef_needs_files_or_made_up_features(tmp_path):
    done = call("imageclef", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "--generated" in done.output
    assert not (tmp_path / "out").exists()


def test_cells_of_one_map_follow_each_other(monkeypatch, tmp_path):
    pictures = small_collection(n=90, n_train=60)
    monkeypatch.setitem(corel5k.VIEWS, "handcrafted", pictures.views.names)
    cells = in_order(corel5k.plan_corel5k(pictures, tmp_path, ("handcrafted",), 2, quick=False).cells)
    same = {
        "initial DMN": "initial",
        "fine-tuned DMN": "fine-tuned, moved landmarks",
        "fine-tuned DMN, Algorithm 1": "fine-tuned, Algorithm 1",
    }
    pairs = 0
    for cell, following in itertools.pairwise(cells):
        if cell.table == "discrimination" and cell.settings.get("model") in same:
            pairs += 1
            assert following.table == "relative error"
            assert following.settings["model"] == same[cell.settings["model"]]
            assert all(following.settings[name] == cell.settings[name] for name in ("S", "S'", "seed"))
    assert pairs == 2 * 25 + 8  # of two seeds, and of Algorithm 1
    slow = ["Algorithm 1" in cell.settings["model"] for cell in cells]
    assert slow == sorted(slow)
    seeds = [cell.settings["seed"] for cell in cells if cell.table == "relative error"][:-12]
    assert seeds == sorted(seeds)


def test_the_full_plans_have_the_papers_cells():
    grids = corel5k.full_grids("handcrafted", 3, algorithm1=True)
    assert set(grids.discrimination.n_landmarks) == {500, 700, 1000, 1200, 2000}
    assert set(grids.discrimination.n_tuning) == {2000, 3000, 4000, 4999}
    assert {(learning, layers) for learning, layers in grids.discrimination.networks} == {
        *((learning, layers) for learning in ("supervised", "semi-supervised") for layers in (2, 3)),
        ("smooth", 3),
        ("leave-one-out", 2),
    }
    assert [n for _, n in grids.errors.maps(700)][1::2] == [700, 1000, 2000, 3000, 4000, 4999]
    assert corel5k.full_grids("learned", 3, algorithm1=False).errors.algorithm1_landmarks == ()
