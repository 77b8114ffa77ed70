"""`gramless serve` with a folder: Ctrl-C does not wait for the pictures that are being described."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import httpx
import psutil
import pytest

PROGRAM = """
import os, sys, time
from pathlib import Path
from gramless.cli import app
from gramless.pictures.correcting import open_folder
from gramless.pictures.features import rows

def stuck(describe, task, begun=Path(sys.argv[1])):
    (begun / str(os.getpid())).touch()
    time.sleep(600)

rows._attempt = stuck
open_folder.FIRST = int(sys.argv[2])
del sys.argv[1:3]
app(prog_name="gramless")
"""


@pytest.mark.parametrize("at_once", [8, 32], ids=["in one process", "in workers"])
def test_ctrl_c_ends_at_once_whatever_is_being_described(at_once, model, photos, tmp_path):
    folder, begun, home = (tmp_path / name for name in ("folder", "begun", "home"))
    for path in (folder, begun, home):
        path.mkdir()
    for number in range(40):
        shutil.copy(sorted(photos.iterdir())[0], folder / f"{number}.jpg")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, begun, str(at_once), "serve", model, folder, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HOME": str(home)},
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    )
    try:
        address = re.search(r"http://[^/]+/", process.stdout.readline()).group()
        assert httpx.get(f"{address}folder/status", trust_env=False, timeout=120).status_code == 200  # it listens
        while process.poll() is None and not list(begun.iterdir()):
            time.sleep(0.02)
        workers = [psutil.Process(int(path.name)) for path in begun.iterdir() if int(path.name) != process.pid]
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=50)  # many times what it takes, and far less than the pictures would
        assert (process.returncode, out.strip(), err) == (0, "Stopped.", "")
        for worker in workers:
            worker.wait(timeout=50)
    finally:
        process.kill()
        process.communicate()
