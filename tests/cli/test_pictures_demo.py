"""`gramless demo --pictures`: what it leaves, what it uses again, what it says when it is stopped."""

import pytest

import gramless.pictures.demo
from gramless.pictures.demo import SceneSizes, run_pictures_demo
from tests.cli.conftest import call

SMALL = SceneSizes(n_scenes=30, n_learned=15, views=("Rgb",))


@pytest.fixture
def small(monkeypatch):
    def run(files, tell):
        return run_pictures_demo(files, tell, SMALL)

    monkeypatch.setattr(gramless.pictures.demo, "run_pictures_demo", run)


def test_it_leaves_a_model_a_gallery_and_commands_to_try(small, tmp_path):
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


def test_ctrl_c_says_what_is_kept(tmp_path, monkeypatch):
    def interrupted(files, tell):
        raise KeyboardInterrupt

    monkeypatch.setattr(gramless.pictures.demo, "run_pictures_demo", interrupted)
    done = call("demo", "--pictures", "--out", tmp_path)
    assert done.exit_code == 130
    assert done.stderr.count("\n") == 1
    assert str(tmp_path) in done.stderr
