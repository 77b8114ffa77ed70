"""Compiled code on disk: found by another process, and not once a source has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from gramless import progress
from gramless.engine import cpu, program

CALL = """
import numpy as np
from gramless.engine.cpu import statistics
x = np.ones((1, 3), np.float32)
out = np.empty((1, 1), np.float32)
statistics.minimum_sums(x, x, out)
assert out[0, 0] == 3
print(sum(statistics._minimum_sums.dispatcher.stats.cache_hits.values()))
"""


def hits(root: Path) -> int:
    """How often a new process finds compiled code."""
    environment = {**os.environ, "PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(root / "cache")}
    done = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_code_is_kept_until_any_source_of_it_changes(tmp_path):
    package = tmp_path / "gramless" / "engine"
    shutil.copytree(Path(cpu.__file__).parent, package / "cpu", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(program.__file__, package)
    shutil.copy(progress.__file__, package.parent)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    assert hits(tmp_path) == 0
    assert hits(tmp_path) == 1
    with (package / "cpu" / "vectors.py").open("a") as source:
        source.write("# changed\n")
    assert hits(tmp_path) == 0
