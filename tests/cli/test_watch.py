"""`gramless annotate watch`: files that arrive, grow, change and go; and, in a process of its own, their keywords."""

import os
import shutil
import signal
import subprocess
import sys

from gramless.cli.annotate_watch import Arrivals
from gramless.pictures.metadata.files import sidecar_of
from tests.cli.conftest import call
from tests.pictures.correcting.conftest import wait_until


def write(path, content, at):
    path.write_bytes(content)
    os.utime(path, ns=(at, at))


def test_a_file_is_given_once_when_it_has_stopped_growing(tmp_path):
    arrivals, a, b = Arrivals(), tmp_path / "a", tmp_path / "b"
    write(a, b"x", 1)
    assert arrivals.look([a]) == []
    write(a, b"xx", 2)
    assert arrivals.look([a]) == []
    write(b, b"y", 3)
    assert arrivals.look([a, b]) == [a]
    assert arrivals.look([a, b]) == [b]
    assert arrivals.look([a, b]) == []


def test_a_changed_file_arrives_anew_and_so_does_one_that_was_away(tmp_path):
    arrivals, a = Arrivals(), tmp_path / "a"
    write(a, b"x", 1)
    arrivals.pass_over([a])
    assert [arrivals.look([a]) for _ in range(3)] == [[], [], []]
    write(a, b"x", 2)
    assert [arrivals.look([a]) for _ in range(3)] == [[], [a], []]
    a.unlink()
    assert arrivals.look([a]) == []
    write(a, b"x", 2)
    assert [arrivals.look([a]) for _ in range(3)] == [[], [a], []]


def test_a_file_that_is_gone_between_finding_and_looking_is_no_error(tmp_path):
    assert Arrivals().look([tmp_path / "gone", tmp_path]) == []


def test_new_pictures_get_keywords_and_old_ones_are_left_alone(studio, model, photos, tmp_path):
    command = [sys.executable, "-m", "gramless.cli", "annotate", "watch", str(model), str(photos), "--every", "0.1"]
    complaints = tmp_path / "stderr"
    with complaints.open("w") as stderr:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # else ignored in the background
        )
    try:
        assert process.stdout.readline().startswith("Watching")
        (photos / "broken.jpg").write_bytes(b"no picture")
        shutil.copy(studio / "scenes/scene-0007.jpg", photos / "new.jpg")
        line = process.stdout.readline()
        assert line.startswith("new.jpg: ")
        wrote = sidecar_of(photos / "new.jpg").read_text()
        for keyword in line.removeprefix("new.jpg: ").strip().split(", "):
            assert f">{keyword}<" in wrote
        wait_until(lambda: "broken.jpg: is no picture" in complaints.read_text())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert "Stopped." in out
    assert [path.name for path in photos.glob("*.xmp")] == ["new.jpg.xmp"]


def test_what_is_no_folder_is_refused(model, tmp_path):
    done = call("annotate", "watch", model, tmp_path / "nowhere")
    assert done.exit_code == 1
    assert "is not a folder" in done.stderr
