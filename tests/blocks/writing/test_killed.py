"""kill -9 in the middle of real runs over a memory map, and the same calls again."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from gramless.blocks import formats, in_blocks
from gramless.blocks.writing import PROGRESS
from tests.blocks.writing.samples import SUFFIXES, bytes_of

N = 20_000
BLOCK = 331
SLOW_RUNS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from tests.blocks.writing.test_killed import in_small_steps, rows_of

in_small_steps()
with ThreadPoolExecutor() as runs:
    list(runs.map(lambda path: rows_of(sys.argv[1], delay=0.2).write(path), sys.argv[2:]))
"""


class Mapped:
    """A function of a block that takes its time."""

    def __init__(self, delay):
        self.delay = delay

    def __call__(self, block):
        time.sleep(self.delay)
        return np.asarray(block.views) @ np.full((8, 8), 2 / 3, np.float32)


def rows_of(data, delay=0.0):
    return in_blocks(np.load(data, mmap_mode="r"), rows=BLOCK).mapped(Mapped(delay), 8, np.float32, "mapping")


def in_small_steps():
    formats.PIECE_BYTES = 30_000


def complete_rows(partial):
    """How many have reached the disk."""
    progress = partial / PROGRESS
    return json.loads(progress.read_text())["rows"] if progress.exists() else 0


def test_killed_runs_continue_with_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "PIECE_BYTES", 30_000)
    data = tmp_path / "data.npy"
    np.save(data, np.random.default_rng(0).standard_normal((N, 8)).astype(np.float32))
    paths = [tmp_path / f"rows{suffix}" for suffix in SUFFIXES]
    partials = [path.with_name(f"{path.name}.partial") for path in paths]

    run = subprocess.Popen([sys.executable, "-c", SLOW_RUNS, data, *paths], cwd=Path(__file__).parents[3])
    while run.poll() is None and not all(map(complete_rows, partials)):
        time.sleep(0.005)
    time.sleep(np.random.default_rng().uniform(0, 0.3))
    run.kill()
    assert run.wait() == -9

    for path, partial in zip(paths, partials, strict=True):
        assert 0 < complete_rows(partial) < N
        assert not path.exists()
        rows_of(data).write(path)
        assert bytes_of(path) == bytes_of(rows_of(data).write(tmp_path / f"one{path.suffix}"))
