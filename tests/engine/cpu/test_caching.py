"""Compiled code on disk: found by another process, and not once a source has changed."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from gramless.engine import cpu, program
from gramless.support import progress

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
    for changed in (package / "cpu" / "vectors.py", package / "program.py"):
        with changed.open("a") as source:
            source.write("# changed\n")
        assert hits(tmp_path) == 0


def test_what_is_compiled_takes_from_no_other_sources():
    """Its own folder and engine/program.py are in the key; a bar of progress is not compiled."""
    taken = set()
    for file in Path(cpu.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("gramless"):
                names = {f"{node.module}.{name.name}" for name in node.names}
                taken |= names if node.module == "gramless.engine" else {node.module}
    outside = {module for module in taken if not module.startswith("gramless.engine.cpu")}
    assert outside == {"gramless.engine.program", "gramless.support.progress"}
