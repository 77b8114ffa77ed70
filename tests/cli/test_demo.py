"""`gramless demo` as a user meets it: output, exit codes, and what is left on disk."""

import json
import sys

import pytest

import gramless.cli.outputs
import gramless.demo.experiment
import gramless.pictures.demo
from gramless.demo.experiment import run_demo
from gramless.demo.result import DemoSizes
from gramless.pictures.demo import SceneSizes, run_pictures_demo
from gramless.version import __version__
from tests.cli.conftest import call

SMALL = DemoSizes(
    n_digits=200,
    n_labelled=60,
    n_unlabelled=20,
    n_splits=1,
    n_landmarks=40,
    landmark_counts=(20,),
    timed_samples=(20, 40),
    n_repeats=1,
)
FEW_SCENES = SceneSizes(n_scenes=30, n_learned=15, views=("Rgb",))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(gramless.demo.experiment, "run_demo", lambda seed, on_step: run_demo(seed, on_step, SMALL))


@pytest.fixture
def never(monkeypatch):
    def refuse(seed, on_step):
        raise AssertionError("nothing may be computed")

    monkeypatch.setattr(gramless.demo.experiment, "run_demo", refuse)


def test_version_and_help():
    assert call("--version").output.strip() == __version__
    assert "demo" in call("--help").output
    assert "--seed" in call("demo", "--help").output


def test_demo_prints_tables_and_leaves_a_picture_and_numbers(small, tmp_path):
    out = tmp_path / "new" / "folder"
    done = call("demo", "--out", out, "--seed", 3)
    assert done.exit_code == 0, done.output
    for words in ("DKN, learned", "DMN + linear SVM", "Relative error", "DKN / DMN"):
        assert words in done.stdout
    assert sorted(path.name for path in out.iterdir()) == ["demo.png", "results.json"]
    written = json.loads((out / "results.json").read_text())
    assert written["seed"] == 3
    assert written["complete"] is True


def test_without_matplotlib_it_says_so_first_and_runs_on(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call("demo", "--out", tmp_path)
    assert done.exit_code == 0
    assert done.output.startswith("There will be no picture: this needs the package matplotlib")
    assert "pip install 'gramless[plots]'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize("tail", ["", "below"])
def test_a_file_where_the_folder_should_be_is_refused_before_computing(never, tmp_path, tail):
    occupied = tmp_path / "occupied"
    occupied.write_text("mine")
    done = call("demo", "--out", occupied / tail)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert str(occupied) in done.stderr
    assert occupied.read_text() == "mine"


def test_a_folder_without_permission_is_refused_before_computing(never, tmp_path, monkeypatch):
    def refuse(dir):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(gramless.cli.outputs.tempfile, "TemporaryFile", refuse)  # permissions do not stop root
    done = call("demo", "--out", tmp_path)
    assert done.exit_code == 2
    assert "Permission denied" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_negative_seed_is_refused(never, tmp_path):
    assert call("demo", "--seed", -1, "--out", tmp_path).exit_code == 2


def test_ctrl_c_keeps_what_was_measured(tmp_path, monkeypatch):
    def interrupted(seed, on_step):
        def stop_after_two(step):
            on_step(step)
            if step.done == 2:
                raise KeyboardInterrupt

        return run_demo(seed, stop_after_two, SMALL)

    monkeypatch.setattr(gramless.demo.experiment, "run_demo", interrupted)
    done = call("demo", "--out", tmp_path)
    assert done.exit_code == 130
    assert done.stderr.count("\n") == 1
    written = json.loads((tmp_path / "results.json").read_text())
    assert len(written["accuracies"]) == 2
    assert written["complete"] is False


def test_ctrl_c_before_any_measurement_leaves_earlier_numbers_alone(tmp_path, monkeypatch):
    def interrupted(seed, on_step):
        raise KeyboardInterrupt

    monkeypatch.setattr(gramless.demo.experiment, "run_demo", interrupted)
    (tmp_path / "results.json").write_text("earlier")
    assert call("demo", "--out", tmp_path).exit_code == 130
    assert (tmp_path / "results.json").read_text() == "earlier"


@pytest.fixture
def few_scenes(monkeypatch):
    def run(folder, seed, tell):
        return run_pictures_demo(folder, seed, tell, FEW_SCENES)

    monkeypatch.setattr(gramless.pictures.demo, "run_pictures_demo", run)


def test_pictures_leave_a_model_a_gallery_and_commands_to_try(few_scenes, tmp_path):
    out = tmp_path / "new/demo"
    done = call("demo", "--pictures", "--out", out, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == [
        *("cache", "gallery.html", "model.gramless", "scenes-3", "weights.png")
    ]
    assert "On 15 unseen scenes" in done.stdout
    assert (out / "gallery.html").read_text().count("data:image/jpeg") == 15
    *_, predict, show, serve = done.stdout.splitlines()
    assert call(*predict.split()[1:]).exit_code == 0
    assert call(*show.split()[1:]).exit_code == 0
    assert serve.split() == ["gramless", "serve", str(out / "model.gramless")]
    drawn = (out / "scenes-3/scene-0000.jpg").stat().st_mtime_ns
    again = call("demo", "--pictures", "--out", out, "--seed", 3)
    assert again.exit_code == 0
    assert (out / "scenes-3/scene-0000.jpg").stat().st_mtime_ns == drawn
    (out / "scenes-3/scene-0000.jpg").unlink()
    spoilt = call("demo", "--pictures", "--out", out, "--seed", 3)
    assert spoilt.exit_code == 1
    assert "29 scenes instead of 30. Delete it" in spoilt.stderr


def test_ctrl_c_among_pictures_says_what_is_kept(tmp_path, monkeypatch):
    def interrupted(folder, seed, tell):
        raise KeyboardInterrupt

    monkeypatch.setattr(gramless.pictures.demo, "run_pictures_demo", interrupted)
    done = call("demo", "--pictures", "--out", tmp_path)
    assert done.exit_code == 130
    assert done.stderr.count("\n") == 1
    assert str(tmp_path) in done.stderr
