"""`gramless annotate watch` in a process of its own: a picture arrives, and its keywords lie beside it."""

import os
import shutil
import signal
import subprocess
import sys

from gramless.pictures.metadata.files import sidecar_of
from tests.cli.conftest import call
from tests.pictures.correcting.conftest import wait_until


def test_new_pictures_get_keywords_and_old_ones_are_left_alone(studio, model, photos):
    command = [sys.executable, "-m", "gramless.cli", "annotate", "watch", str(model), str(photos), "--every", "0.1"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which what runs in the background ignores
    )
    try:
        assert process.stdout.readline().startswith("Watching")
        (photos / "broken.jpg").write_bytes(b"no picture")
        shutil.copy(studio / "scenes/scene-0007.jpg", photos / "new.jpg")
        wait_until(sidecar_of(photos / "new.jpg").exists)
        line = process.stdout.readline()
        assert line.startswith("new.jpg: ")
        wrote = sidecar_of(photos / "new.jpg").read_text()
        for keyword in line.removeprefix("new.jpg: ").strip().split(", "):
            assert f">{keyword}<" in wrote
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Stopped." in out
    assert "broken.jpg: is no picture" in err
    assert [path.name for path in photos.glob("*.xmp")] == ["new.jpg.xmp"]


def test_what_is_no_folder_is_refused(model, tmp_path):
    done = call("annotate", "watch", model, tmp_path / "nowhere")
    assert done.exit_code == 1
    assert "is not a folder" in done.stderr
